spnc data show shared/cups

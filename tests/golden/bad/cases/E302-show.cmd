spnc data show shared/wether.csv

spnc check shared/wether.spnc

spnc check cases

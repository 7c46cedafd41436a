SPNC_DATA=shared/changed spnc data show debd:nltcs

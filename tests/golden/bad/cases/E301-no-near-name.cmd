spnc data show builtin:iris

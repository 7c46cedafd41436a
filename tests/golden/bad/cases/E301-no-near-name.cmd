spnc data show builtin:titanic

spnc data show builtin:penguins

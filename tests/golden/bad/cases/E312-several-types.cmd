spnc data show shared/several-types

spnc train --auto builtin:asia --out run --set data.valid=5-fold

spnc train --auto builtin:asia --out run --set data.splt=3 --seed x

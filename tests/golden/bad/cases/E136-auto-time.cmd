spnc train --auto builtin:asia --out run --set limits.time=1h

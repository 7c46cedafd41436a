spnc train --auto builtin:asia --out run --budget 30m1h

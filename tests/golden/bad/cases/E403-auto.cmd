spnc train --auto builtin:asia --out run --resume

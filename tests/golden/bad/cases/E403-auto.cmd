spnc train --auto builtin:asia --out shared --resume

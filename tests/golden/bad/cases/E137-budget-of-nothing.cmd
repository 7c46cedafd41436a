spnc train --auto builtin:asia --out run --budget 0min

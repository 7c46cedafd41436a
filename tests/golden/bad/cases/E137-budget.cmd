spnc train --auto builtin:asia --out run --budget 'ten minutes'

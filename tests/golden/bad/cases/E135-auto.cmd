spnc train --auto builtin:asia --out run --set 'data.split=[0.9, 0, 0.1]'

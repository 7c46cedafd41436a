spnc train --auto builtin:asia --out run --set 'smoothing={search: [0.1, 1]}'

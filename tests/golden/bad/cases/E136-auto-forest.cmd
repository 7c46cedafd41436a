spnc train --auto builtin:asia --out run --set forest.0.count=3 --set optimizer.patience=3

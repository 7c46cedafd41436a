spnc train --auto builtin:asai --out run

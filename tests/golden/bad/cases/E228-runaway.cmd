spnc train cases/runaway.yaml --out run

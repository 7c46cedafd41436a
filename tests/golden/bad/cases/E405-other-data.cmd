spnc train cases/locked.yaml --out run

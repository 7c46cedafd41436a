spnc train cases/dry.yaml --out run

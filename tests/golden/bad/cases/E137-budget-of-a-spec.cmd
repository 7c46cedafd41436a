spnc train cases/good.yaml --out run --budget 1e3

spnc train cases/good.yaml --out run --budget 10min

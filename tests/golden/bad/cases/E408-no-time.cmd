spnc train cases/good.yaml --out run --budget 0.000001s

spnc train cases/good.yaml --seed -1 --out run

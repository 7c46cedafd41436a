spnc train cases/good.yaml --out run --set limits.memory=1MB

spnc train cases/constant.yaml --out run

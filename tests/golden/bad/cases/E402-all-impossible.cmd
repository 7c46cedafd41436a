spnc train cases/never.yaml --out run

spnc train cases/never.yaml --out run
spnc report run

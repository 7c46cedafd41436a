spnc check cases/good.yaml --backend nunpy

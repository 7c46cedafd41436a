spnc check cases/good.yaml --set model.name=rain

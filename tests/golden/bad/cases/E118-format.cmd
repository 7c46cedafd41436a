spnc format cases/good.yaml --to json

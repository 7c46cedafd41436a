spnc --plugin plugins/nowhere.py check cases/good.yaml

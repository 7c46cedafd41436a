spnc check cases/god.yaml

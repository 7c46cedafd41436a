spnc tarin specs/one.yaml

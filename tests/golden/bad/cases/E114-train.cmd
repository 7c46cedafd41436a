spnc train specs/E999.yaml

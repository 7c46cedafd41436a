spnc export cases/good.yaml -o good.svg

spnc train cases/weather.yaml --out cases/good.yaml --overwrite

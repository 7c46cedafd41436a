spnc eval cases/good.yaml shared/weather.csv

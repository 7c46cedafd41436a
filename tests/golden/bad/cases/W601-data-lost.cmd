# the data is overwritten by what is no data
spnc train cases/weather.yaml --out run
spnc format cases/weather.yaml -o shared/weather.csv
spnc report run

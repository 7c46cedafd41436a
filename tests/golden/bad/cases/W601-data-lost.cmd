# the data is overwritten by what is no data
spnc train cases/weather.yaml --out run
spnc eval shared/weather.spnc shared/weather.csv --per-row shared/weather.csv
spnc report run

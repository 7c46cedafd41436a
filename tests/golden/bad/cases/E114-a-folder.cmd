spnc eval shared/broken-run shared/weather.csv

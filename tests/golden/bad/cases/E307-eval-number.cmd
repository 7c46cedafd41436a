spnc eval shared/weather.spnc shared/unnamed.csv

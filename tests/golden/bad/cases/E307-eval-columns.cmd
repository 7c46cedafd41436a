spnc eval shared/weather.spnc shared/other.csv

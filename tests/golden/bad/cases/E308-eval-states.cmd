spnc eval shared/weather.spnc shared/codes.csv

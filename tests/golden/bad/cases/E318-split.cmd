spnc eval shared/weather.spnc shared/weather.csv --split test

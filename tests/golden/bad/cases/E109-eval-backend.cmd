spnc eval shared/weather.spnc shared/weather.csv --backend nump

spnc plot mi shared/weather.spnc shared/weather.csv --split test

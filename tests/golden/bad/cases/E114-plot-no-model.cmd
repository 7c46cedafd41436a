spnc plot mi shared/wether.spnc shared/weather.csv

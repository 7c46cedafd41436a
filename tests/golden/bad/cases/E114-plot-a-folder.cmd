spnc plot mi . shared/weather.csv

spnc plot mi shared/weather.spnc shared/other.csv

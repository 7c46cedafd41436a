spnc plot mi shared/weather.spnc shared/weather.csv -o mi.pdf

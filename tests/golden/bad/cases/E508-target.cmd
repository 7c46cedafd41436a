spnc predict shared/weather.spnc shared/weather.csv --target rian

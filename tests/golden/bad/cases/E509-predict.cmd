spnc predict shared/weather.spnc shared/predicted.csv --target sun

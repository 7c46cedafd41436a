spnc impute shared/weather.spnc shared/weather.csv -o filled.xls

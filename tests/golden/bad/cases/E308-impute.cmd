spnc impute shared/weather.spnc shared/wrong-cells.csv

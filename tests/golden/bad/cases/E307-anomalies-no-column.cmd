spnc anomalies shared/weather.spnc shared/strangers.csv

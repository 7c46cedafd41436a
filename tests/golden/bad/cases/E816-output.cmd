spnc query shared/weather.spnc "P(rain = 1)" -o answers.csv

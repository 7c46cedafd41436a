spnc query shared/weather.spnc --table shared/other.csv "P(rain = 1 | *)"

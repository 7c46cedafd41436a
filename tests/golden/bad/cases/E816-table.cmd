spnc query shared/weather.spnc "P(rain = 1 | *)" --table shared/weather.csv --plot rain.svg --json

spnc query shared/weather.spnc "P(rain = 1)" "H[sun]" --plot rain.svg

spnc query shared/weather.spnc --table shared/weather.csv "P(rain = 1 by sun | *)" "most likely rain | *" "P(rain = 1 | *)"

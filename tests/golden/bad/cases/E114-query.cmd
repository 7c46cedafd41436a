spnc query shared/weather.spnc --file nowhere.txt "P(rain = 2)"

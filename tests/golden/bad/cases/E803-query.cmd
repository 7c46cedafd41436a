spnc query shared/weather.spnc "P(rian = 1)" "E[sun | wind = 2]"

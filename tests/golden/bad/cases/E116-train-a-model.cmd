spnc train shared/weather.spnc

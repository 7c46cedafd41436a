spnc train shared/weather.spn

spnc plot history nowhere shared/weather.spnc shared

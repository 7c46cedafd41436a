spnc query shared/weather.spnc "density of rain" --plot rain.pdf

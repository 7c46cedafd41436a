spnc query shared/weather.spnc "density of rain" "density of sun" --plot rain.svg

spnc compile shared/rain-only.spn -o rain.spnc
spnc plot mi shared/weather.spnc rain.spnc shared/weather.csv

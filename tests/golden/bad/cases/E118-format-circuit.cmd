spnc format shared/weather.spn --to yaml

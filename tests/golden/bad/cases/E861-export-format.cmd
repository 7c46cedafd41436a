spnc export shared/weather.spn -o weather.svg --format sgv

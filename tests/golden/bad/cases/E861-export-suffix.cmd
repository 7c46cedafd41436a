spnc export shared/weather.spn -o weather.pdf

spnc export shared/weather.spn -o shared/weather.csv/weather.svg

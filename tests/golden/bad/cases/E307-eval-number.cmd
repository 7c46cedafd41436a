spnc eval shared/weather.spnc data/E308-negative.csv

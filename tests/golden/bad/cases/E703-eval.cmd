MACHINE=no-driver spnc eval shared/weather.spnc shared/weather.csv --backend cupy

MACHINE=no-driver spnc train cases/weather.yaml --out run --backend cupy

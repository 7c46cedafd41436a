MACHINE=no-headers spnc train cases/weather.yaml --out run --backend cupy

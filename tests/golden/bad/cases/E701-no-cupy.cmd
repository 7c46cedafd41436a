MACHINE=no-cupy spnc train cases/weather.yaml --out run --backend cupy

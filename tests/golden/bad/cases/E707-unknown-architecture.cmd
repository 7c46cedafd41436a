MACHINE=unknown-architecture spnc train cases/weather.yaml --out run --backend cupy

MACHINE=read-only spnc train cases/weather.yaml --out run --backend cupy

MACHINE=capability=61 spnc train cases/weather.yaml --out run --backend cupy

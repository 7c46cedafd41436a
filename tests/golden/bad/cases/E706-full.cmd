MACHINE=memory=9000 spnc train cases/weather.yaml --out run --backend cupy

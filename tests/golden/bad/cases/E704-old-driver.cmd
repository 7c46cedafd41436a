MACHINE=driver=11080 spnc train cases/weather.yaml --out run --backend cupy

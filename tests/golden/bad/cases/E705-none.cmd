MACHINE=devices=0 spnc train cases/weather.yaml --out run --backend cupy

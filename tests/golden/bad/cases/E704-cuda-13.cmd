MACHINE=driver=12020,runtime=13000 spnc train cases/weather.yaml --out run --backend cupy

MACHINE=driver=11080,runtime=13000 spnc train cases/weather.yaml --out run --backend cupy

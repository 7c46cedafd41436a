MACHINE=capability=70,driver=13000,runtime=13000 spnc train cases/weather.yaml --out run --backend cupy

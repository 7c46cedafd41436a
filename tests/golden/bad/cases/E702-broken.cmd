MACHINE=broken spnc train cases/weather.yaml --out run --backend cupy

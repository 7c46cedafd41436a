MACHINE=no-nvrtc spnc train cases/weather.yaml --out run --backend cupy

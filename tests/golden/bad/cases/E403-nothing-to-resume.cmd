spnc train cases/weather.yaml --out run --resume

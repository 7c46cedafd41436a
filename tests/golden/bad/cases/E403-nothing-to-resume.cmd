spnc train cases/weather.yaml --out shared --resume

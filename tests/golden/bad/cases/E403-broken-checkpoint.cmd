spnc train cases/weather.yaml --out shared/broken-run --resume

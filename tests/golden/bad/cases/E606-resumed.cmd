spnc train cases/weather.yaml --out shared/changed-run --resume

spnc train cases/weather.yaml --out run
spnc plot history run -o cases/good.yaml/history.svg

spnc train cases/weather.yaml --out run
spnc report run -o run/metrics.htm
spnc report run --image 2x2

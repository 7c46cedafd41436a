spnc train cases/weather.yaml --out run
spnc train cases/weather.yaml --out run --resume --seed 1

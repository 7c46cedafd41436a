spnc train cases/search.yaml --out run --quiet
spnc train cases/weather.yaml --out run --resume --quiet

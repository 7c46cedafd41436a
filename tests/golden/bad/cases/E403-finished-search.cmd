spnc train cases/search.yaml --out run --quiet
spnc train cases/search.yaml --out run --resume --quiet

spnc eval shared/weather.spnc shared/weather.csv --per-row cases/good.yaml/rows.csv

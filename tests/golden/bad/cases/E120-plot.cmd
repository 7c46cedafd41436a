spnc plot mi shared/weather.spnc shared/weather.csv -o cases/good.yaml/mi.png

spnc plot mi shared/weather.spnc cases/good.yaml shared/weather.csv -o mi.pdf --backend nump

spnc train cases/weather.yaml --out run
spnc report run -o cases/good.yaml/page.html

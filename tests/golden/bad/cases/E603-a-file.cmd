spnc report shared/weather.spnc -o page.pdf --backend nump

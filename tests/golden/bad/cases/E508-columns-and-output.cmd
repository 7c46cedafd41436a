spnc sample shared/weather.spnc --columns rain,snow,wnd -o drawn.xlsx

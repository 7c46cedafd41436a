spnc check shared/weather.spn --set seed=3 --backend zzz

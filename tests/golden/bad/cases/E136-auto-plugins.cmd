spnc train --auto shared/weather.csv --set plugins=[a.py]

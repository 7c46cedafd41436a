spnc train cases/weather.yaml --out run
spnc explore run/model.spnc -o page.txt --max-edges 2 --image 2x2

spnc check cases/good.yaml --set seed --set =3 --set a..b=1 --set seed.=3

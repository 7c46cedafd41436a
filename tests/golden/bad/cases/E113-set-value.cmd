spnc check cases/good.yaml --set 'model=[a' --set 'seed=# 3'

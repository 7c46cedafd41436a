spnc check cases/good.yaml --set forest.0.bta=0.5 --set optimizer.patients=3

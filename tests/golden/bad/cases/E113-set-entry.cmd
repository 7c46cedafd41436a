spnc check cases/good.yaml --set forest.3.beta=0.5 --set forest.first.beta=0.5 --set forest.².beta=0.5 --set forest.99999999999999999999.beta=0.5

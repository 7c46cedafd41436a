spnc inspect cases/search.yaml --set forest.0.beta=0.5

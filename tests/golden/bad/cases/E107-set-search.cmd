spnc check cases/search.yaml --set 'forest.0.beta={search: [0.5, 2]}' --set seed.x=3

spnc check cases/good.yaml --set seed=seven --set 'optimizer.stop={rule: variance, window: x}'

MACHINE=devices=1 spnc train cases/little-memory.yaml --out run

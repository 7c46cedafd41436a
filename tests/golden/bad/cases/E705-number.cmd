MACHINE=devices=2 spnc train cases/third-device.yaml --out run

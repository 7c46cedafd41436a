spnc format shared/weather.spn -o cases/good.yaml/circuit.json

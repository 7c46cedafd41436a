spnc compile shared/weather.spn -o cases/good.yaml/model.spnc

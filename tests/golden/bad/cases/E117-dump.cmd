spnc compile cases/good.yaml --dump nonsense

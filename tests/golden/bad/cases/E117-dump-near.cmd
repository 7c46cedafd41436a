spnc compile cases/good.yaml --dump merge-sum

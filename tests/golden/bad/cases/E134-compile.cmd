spnc compile cases/search.yaml

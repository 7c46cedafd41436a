spnc compile cases/many-links.yaml -o model.spnc

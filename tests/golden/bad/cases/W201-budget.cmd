spnc compile cases/many-links.yaml --seed 1 -o model.spnc

spnc impute shared/weather.spnc shared/splits.npz

spnc train cases/clashing-plugin.yaml --allow-plugins

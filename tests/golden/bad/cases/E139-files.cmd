spnc check cases/broken-plugins.yaml --allow-plugins

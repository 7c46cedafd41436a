"""Families of `--auto`: what it may try; one file each, found through `spnc.registry.FAMILIES`."""

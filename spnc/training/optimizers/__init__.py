"""Optimisers: one file each, found through `spnc.registry.OPTIMIZERS`."""

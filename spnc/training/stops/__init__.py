"""Stopping rules: one file each, found through `spnc.registry.STOPS`."""

"""What `--auto` may try: one family, one file, found through `spnc.registry.FAMILIES`."""

"""Plug-ins for spnc: binomial leaves, a mixture of them, and a family for `--auto`."""

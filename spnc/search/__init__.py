"""Many trainings of which the best is kept: grids from a spec, and `--auto`."""

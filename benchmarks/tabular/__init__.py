"""The parts of `benchmarks.tables`: systems, synthetic rows, marginals, records, the page."""

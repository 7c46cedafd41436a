"""The parts of `benchmarks.speed`: worker processes, comparisons, growth curves, the page."""

"""The parts of `benchmarks.faults`: kills, damaged files, fuzzed inputs, memory, the page."""

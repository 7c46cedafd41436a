"""Benchmarks of spnc and its peers, and the recorders of the peers' answers."""

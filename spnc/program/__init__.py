"""Flat programs: what graphs are lowered to and engines compute."""

"""Circuits for other programs: one format, one file; `formats` knows them all."""

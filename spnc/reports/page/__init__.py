"""The page about a run: facts in, one HTML text out; one section, one file."""

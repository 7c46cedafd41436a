"""Exact queries: one kind of question about a model, one file."""

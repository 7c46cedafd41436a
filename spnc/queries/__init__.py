"""Questions that a model answers exactly: one kind of question, one file."""

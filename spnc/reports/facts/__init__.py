"""What the page about a run says, as plain data: one kind of question, one file; no HTML."""

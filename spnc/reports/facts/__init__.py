"""What the page about a run says, as plain data without HTML; one topic, one file."""

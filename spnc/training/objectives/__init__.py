"""What parameters are fitted to: one objective, one file."""

"""How training grows with rows, columns, edges and processes: one command, one file."""

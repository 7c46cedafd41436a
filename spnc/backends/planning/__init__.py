"""What the CPU and GPU engines share: which work there is on a table, before it is laid out."""

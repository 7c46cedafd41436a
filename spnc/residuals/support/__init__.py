"""What several residual strategies share."""

"""Growing a forest: components, the sum on top, pretraining before links."""

"""The small language: one grammar for recipes and circuits, and its syntax errors."""

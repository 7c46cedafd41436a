"""The script and the style of pages that can be asked."""

"""A plug-in file that registers nothing."""

"""A plug-in file that is stopped while it is imported."""

raise RuntimeError("no licence")

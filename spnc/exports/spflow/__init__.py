"""Circuits of SPFlow 0.0.48: its node objects from ours (`writing.py`), and back (`reading.py`).

SPFlow is not a dependency. Its objects are read by the names of their classes and attributes, and
made by the installed package. Converted are the leaves that mean the same in both: see
`docs/exports.md`.
"""

VERSION = "0.0.48"

"""The CPU backend: what need not be computed is found once per table, the rest is compiled loops.

A circuit over binary columns sees far fewer distinct things than it has row-edges. A node over
few columns takes one value per distinct *projection* of the rows onto these columns, and the flow
through it can be summed per projection before it goes further down. `spnc.backends.planning` works
this out for a program and a table; `layout` lays it out as flat arrays; `kernels` runs them, in the
linear domain; `logspace` computes the rows for which doubles do not reach.
"""

from spnc.backends.numba.backend import NumbaBackend

__all__ = ["NumbaBackend"]

"""The CPU backend: compiled loops that compute what is equal in the data only once.

A node over few columns takes one value per distinct *projection* of the rows onto these columns,
and the flow through it can be summed per projection before it goes further down. So a circuit over
binary columns needs far fewer operations than it has edges times rows.

`spnc.backends.planning` finds the projections for a program and a table. `layout` describes the
flat arrays that `layout_builder` makes of them. `executor` shares the work out among threads that
run `kernels`, in the linear domain. `upper_bounds` tells which rows the range of doubles was too
small for, and `log_domain` computes those rows again. docs/engine.md explains the reasons.
"""

from spnc.backends.numba.backend import NumbaBackend

__all__ = ["NumbaBackend"]

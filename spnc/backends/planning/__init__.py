"""Planning: what the CPU and GPU engines share, before each lays a program out in its own way.

A node over few columns takes one value per distinct *projection* of the rows onto these columns.
`planner` finds these projections for a program and a table, and rewrites the program over them;
`spnc.backends.numba.layout` and `spnc.backends.cupy.layout` turn the result into flat arrays.
"""

"""Kernel density estimates as circuits.

The modules, each using those before it:

- `column_kernels`: how a value of a column spreads around that of a centre;
- `leave_one_out`: how wide the kernels are;
- `learner`: the plug-in.
"""

from spnc.learners.kernel_density.learner import KernelDensity

__all__ = ["KernelDensity"]

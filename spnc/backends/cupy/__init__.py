"""The GPU backend: programs laid out for a device, and CUDA kernels that run over them.

On the CPU, `batches` divides rows with too many distinct numbers, `layout` orders a planned program
in steps, `tables` turns that into the arrays that a device keeps, and `launches` decides which
steps share a launch. `sweep` makes one pass over the rows, through `device`, the only module that
computes with CuPy. `trouble` explains what is wrong with a machine, and `cost` estimates memory and
traffic without a device. See docs/gpu.md.
"""

from spnc.backends.cupy.backend import CupyBackend

__all__ = ["CupyBackend"]

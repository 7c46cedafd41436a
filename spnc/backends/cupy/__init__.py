"""The GPU backend: programs laid out for a device, and CUDA kernels; docs/gpu.md."""

from spnc.backends.cupy.backend import CupyBackend

__all__ = ["CupyBackend"]

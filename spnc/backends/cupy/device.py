"""The device: memory, copies and launches. The only module that computes with CuPy.

CuPy is imported when a device is opened, so that other backends do not pay for the import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spnc.backends.cupy import trouble

FOLDER = Path(__file__).parent / "kernels"
FILES = ("forward.cu", "backward.cu", "counts.cu")
SHARED = "circuit.cuh"
C_NAMES = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
BLOCK = 256  # threads


class Device:
    """One device, with kernels for values of one type; to be used inside `with device.here()`."""

    def __init__(self, number: int, real: np.dtype[np.generic]) -> None:
        import cupy

        self.cupy: Any = cupy
        self.number = number
        self._module_of: dict[str, Any] = {}
        self._kernels: dict[str, Any] = {}
        for name in FILES:
            code = source_of(name)
            module = cupy.RawModule(code=code, options=compiler_options(real))
            self._module_of |= dict.fromkeys(kernels_in(code), module)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Make this the current device, and turn errors of the machine into diagnostics."""
        cupy = self.cupy
        with trouble.explained(cupy), cupy.cuda.Device(self.number):
            yield

    def compile(self) -> None:
        """Compile all kernels, or read them from CuPy's cache."""
        for name, module in self._module_of.items():
            self._kernels[name] = module.get_function(name)

    def free_bytes(self) -> int:
        """Return the bytes that can be allocated: free on the device, or kept by CuPy for reuse."""
        cupy = self.cupy
        pool = cupy.get_default_memory_pool()
        return int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def upload(self, array: NDArray[np.generic]) -> Any:
        """Copy an array to the device.

        `cupy.asarray` would leave a page-locked copy on the host that CuPy never frees.
        """
        cupy = self.cupy
        found = cupy.empty(array.shape, dtype=array.dtype)
        found.set(np.ascontiguousarray(array))
        return found

    def empty(self, count: int, kind: DTypeLike) -> Any:
        """Allocate memory without initialising it."""
        cupy = self.cupy
        return cupy.empty(count, dtype=kind)

    def zeros(self, count: int, kind: DTypeLike) -> Any:
        """Allocate memory filled with zeros."""
        cupy = self.cupy
        return cupy.zeros(count, dtype=kind)

    def download(self, array: Any) -> NDArray[np.generic]:
        """Wait for all launches, and copy an array to the host."""
        cupy = self.cupy
        found: NDArray[np.generic] = cupy.asnumpy(array)
        return found

    def launch(
        self, name: str, grid: tuple[int, ...], arguments: tuple[Any, ...], threads: int = BLOCK
    ) -> None:
        """Run a kernel on a grid of blocks with this many threads each; skip an empty grid."""
        if 0 in grid:
            return
        if not self._kernels:
            self.compile()
        self._kernels[name](grid, (threads,), arguments)


def source_of(name: str) -> str:
    """Return a source file with its include replaced by the included text.

    CuPy caches compiled code by its source text. An included file is no part of that text, so a new
    version of it would never be compiled.
    """
    text = (FOLDER / name).read_text(encoding="utf-8")
    return text.replace(f'#include "{SHARED}"\n', (FOLDER / SHARED).read_text(encoding="utf-8"))


def compiler_options(real: np.dtype[np.generic]) -> tuple[str, ...]:
    """Return the compiler options, which are the same for all devices.

    Multiply-adds are not fused: the compiler might fuse them in one kernel and not in another, and
    then the same formula would give different bits.
    """
    return (f"-DREAL={C_NAMES[real]}", "--std=c++17", "--fmad=false")


def kernels_in(code: str) -> list[str]:
    """Return the names of the kernels in a source file."""
    return re.findall(r"__global__ void (\w+)\(", code)

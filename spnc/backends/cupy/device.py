"""The device: memory, copies and launches. The only place that computes with CuPy.

CuPy is imported when a device is opened: whoever does without pays nothing for it.
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
    """One device, with the kernels compiled for values of one type. Use it in `here`."""

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
        """All that follows happens on this device; what is wrong with it is a diagnostic."""
        cupy = self.cupy
        with trouble.explained(cupy), cupy.cuda.Device(self.number):
            yield

    def compile(self) -> None:
        """Compile all kernels, or read them from CuPy's cache."""
        for name, module in self._module_of.items():
            self._kernels[name] = module.get_function(name)

    def free_bytes(self) -> int:
        """Memory that can be had: what the device has free, and what CuPy keeps for later."""
        cupy = self.cupy
        pool = cupy.get_default_memory_pool()
        return int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def upload(self, array: NDArray[np.generic]) -> Any:
        """A copy on the device.

        `cupy.asarray` would leave a page-locked copy on the host, which CuPy never gives back.
        """
        cupy = self.cupy
        found = cupy.empty(array.shape, dtype=array.dtype)
        found.set(np.ascontiguousarray(array))
        return found

    def empty(self, count: int, kind: DTypeLike) -> Any:
        """Memory with anything in it."""
        cupy = self.cupy
        return cupy.empty(count, dtype=kind)

    def zeros(self, count: int, kind: DTypeLike) -> Any:
        """Memory with zeros in it."""
        cupy = self.cupy
        return cupy.zeros(count, dtype=kind)

    def download(self, array: Any) -> NDArray[np.generic]:
        """A copy off the device, once all that was launched is done."""
        cupy = self.cupy
        found: NDArray[np.generic] = cupy.asnumpy(array)
        return found

    def launch(
        self, name: str, grid: tuple[int, ...], arguments: tuple[Any, ...], threads: int = BLOCK
    ) -> None:
        """Run a kernel on blocks of so many threads; nothing if there are no blocks."""
        if 0 in grid:
            return
        if not self._kernels:
            self.compile()
        self._kernels[name](grid, (threads,), arguments)


def source_of(name: str) -> str:
    """A source file with what it includes put into it.

    CuPy keeps compiled code under the text it was made from, and an included file is no part of
    that: a new version of it would never be compiled.
    """
    text = (FOLDER / name).read_text(encoding="utf-8")
    return text.replace(f'#include "{SHARED}"\n', (FOLDER / SHARED).read_text(encoding="utf-8"))


def compiler_options(real: np.dtype[np.generic]) -> tuple[str, ...]:
    """What the compiler is told, whatever the device.

    Multiplications and additions stay apart: where a compiler may fuse them, two kernels with the
    same formula need not give the same bits.
    """
    return (f"-DREAL={C_NAMES[real]}", "--std=c++17", "--fmad=false")


def kernels_in(code: str) -> list[str]:
    """The names of the kernels in a source file."""
    return re.findall(r"__global__ void (\w+)\(", code)

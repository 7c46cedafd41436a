"""Kernels are called with what their signature asks for, and with nothing else."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from tests.stand_in.building import Library, library_of
from tests.stand_in.errors import BarrierError, CUDADriverError, CUDARuntimeError
from tests.stand_in.memory import Host, ndarray

MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_THREADS = (1024, 1024, 64)
BARRIER, MEMORY = 1, 2  # as in fibers.cpp


def sizes_of(grid: tuple[int, ...], block: tuple[int, ...]) -> list[int]:
    """The sizes of a launch; those that no device accepts are errors.

    CuPy makes a 1 of a 0, and so runs a block where none was meant: here that is an error.
    """
    for sizes in (grid, block):
        if not isinstance(sizes, tuple) or not 1 <= len(sizes) <= 3:
            raise TypeError(f"a tuple of one to three sizes is wanted, not {sizes!r}")
    found = [int(size) for sizes in (grid, block) for size in (*sizes, 1, 1)[:3]]
    fits = all(1 <= n <= most for n, most in zip(found, MOST_BLOCKS + MOST_THREADS, strict=True))
    if not fits or found[3] * found[4] * found[5] > 1024:
        raise CUDADriverError(1, f"grid {grid}, block {block}")
    return found


class Kernel:
    """A kernel of a module, ready to be launched."""

    def __init__(self, host: Host, library: Library, name: str, signature: str) -> None:
        self._host, self._library, self._name = host, library, name
        half = len(signature) // 2
        letters = map(np.dtype, signature[half:])
        self._arguments = list(zip(signature[:half], letters, strict=True))
        self._launch = getattr(library.own, f"launch_{name}")

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]
    ) -> None:
        self._host.check()
        sizes = sizes_of(grid, block)
        if len(args) != len(self._arguments):
            raise TypeError(
                f"kernel {self._name} has {len(self._arguments)} arguments, not {len(args)}"
            )
        values = [self._bytes_of(place, value) for place, value in enumerate(args)]
        slots = ctypes.create_string_buffer(b"".join(values), 8 * len(args) + 8)
        start = ctypes.addressof(slots)
        pointers = (ctypes.c_void_p * (len(args) + 1))(*range(start, start + len(slots), 8))
        code = self._launch((ctypes.c_uint * 6)(*sizes), pointers)
        self._count()
        self._check_outcome(code, args)

    def _bytes_of(self, place: int, value: Any) -> bytes:
        """An argument in eight bytes."""
        kind, dtype = self._arguments[place]
        wanted = f"argument {place} of kernel {self._name} is "
        if kind == "p":
            if not isinstance(value, ndarray):
                raise TypeError(f"{wanted}an array of {dtype}, not a {type(value).__name__}")
            if value.dtype != dtype:
                raise TypeError(f"{wanted}an array of {dtype}, not of {value.dtype}")
            owner = value._allocation
            if owner.host is not self._host or owner.device != self._host.current:
                raise CUDARuntimeError(700, f"{wanted}an array of another device")
            return int(value.data.ptr).to_bytes(8, sys.byteorder)
        if not isinstance(value, np.generic) or value.dtype != dtype:
            raise TypeError(f"{wanted}a scalar of {dtype}, not a {type(value).__name__}")
        return value.tobytes().ljust(8, b"\0")

    def _count(self) -> None:
        host, tallies = self._host, self._library.tallies
        host.launches[self._name] += 1
        counters = (host.bytes_read, host.bytes_written, host.flops)
        for counter, tally in zip(counters, tallies, strict=True):
            counter[self._name] += tally
        tallies[:] = [0, 0, 0]

    def _check_outcome(self, code: int, args: tuple[Any, ...]) -> None:
        if code == BARRIER:
            raise BarrierError(f"kernel {self._name}: {self._library.reason()}")
        if code != 0:
            status = 700 if code == MEMORY else 719
            raise CUDARuntimeError(status, f"kernel {self._name}, {self._library.reason()}")
        for place, value in enumerate(args):
            if isinstance(value, ndarray) and not value._allocation.intact():
                value._allocation.mend()
                note = f"kernel {self._name} wrote beside the array that is argument {place}"
                raise CUDARuntimeError(700, note)


class RawModule:
    """Kernels from source; compiled when the first is asked for."""

    _host: Host

    def __init__(self, code: str, *, options: tuple[str, ...] = (), backend: str = "nvrtc") -> None:
        if not isinstance(code, str) or not isinstance(options, tuple) or backend != "nvrtc":
            raise TypeError("a module is a string of code, a tuple of options, and for nvrtc")
        self.code, self.options, self.backend = code, options, backend

    def compile(self) -> None:
        """Compile the module now."""
        self._host.check()
        library_of(self.code, self.options)

    def get_function(self, name: str) -> Kernel:
        """A kernel by its name."""
        self._host.check()
        library = library_of(self.code, self.options)
        signature = library.signature(name)
        if signature is None:
            raise CUDADriverError(500, f"there is no kernel {name}")
        return Kernel(self._host, library, name, signature)

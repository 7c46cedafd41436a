"""The part of CuPy that spnc uses, on a machine without a GPU: NumPy's memory, g++'s kernels.

It is stricter than CuPy where CuPy is silent: memory that was never written holds garbage, scalars
must have the type that the kernel declares, and arrays of the host and the device never mix.
What CuPy does not have (counters, settings) is under `host`.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.stand_in import errors
from tests.stand_in.building import why_not
from tests.stand_in.launching import RawModule
from tests.stand_in.memory import Host, MemoryPointer, ndarray, new_array

__all__ = ["CupyOnHost", "instead_of_cupy", "why_not"]


class Device:
    """A device by its number; in a `with` block, the one in use."""

    _host: Host

    def __init__(self, device: int | None = None) -> None:
        if device is None:
            self._host.check()
            device = self._host.current
        self.id = device
        self._before: list[int] = []

    def __enter__(self) -> Device:
        self._before.append(self._host.current)
        self.use()
        return self

    def __exit__(self, *_: object) -> None:
        self._host.current = self._before.pop()

    def use(self) -> None:
        """What follows happens on this device."""
        self._host.check_device(self.id)
        self._host.current = self.id

    def synchronize(self) -> None:
        """Launches on the host have ended when they return."""
        self._host.check_device(self.id)

    @property
    def compute_capability(self) -> str:
        """What the device can do."""
        self._host.check_device(self.id)
        return "80"

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        self._host.check_device(self.id)
        return self._host.free(self.id), self._host.memory


class Stream:
    """Launches happen in the order in which they are made, and at once."""

    _host: Host
    null: Stream

    def synchronize(self) -> None:
        """Everything has ended already."""
        self._host.check()


class MemoryPool:
    """The bytes of the device in use that arrays have, and those that are kept for new ones."""

    _host: Host

    def used_bytes(self) -> int:
        """The bytes of arrays."""
        self._host.check()
        return self._host.used[self._host.current]

    def free_bytes(self) -> int:
        """The bytes that are kept for new arrays."""
        self._host.check()
        return self._host.kept[self._host.current]

    def total_bytes(self) -> int:
        """Both."""
        return self.used_bytes() + self.free_bytes()

    def free_all_blocks(self) -> None:
        """Keep nothing for new arrays."""
        self._host.check()
        self._host.kept[self._host.current] = 0


class Runtime(ModuleType):
    """CUDA's own functions."""

    def __init__(self, host: Host) -> None:
        super().__init__("cupy.cuda.runtime")
        self._host = host
        self.CUDARuntimeError = errors.CUDARuntimeError

    def getDeviceCount(self) -> int:
        self._host.check()
        return self._host.devices

    def driverGetVersion(self) -> int:
        return self._host.driver

    def runtimeGetVersion(self) -> int:
        return self._host.runtime

    def memGetInfo(self) -> tuple[int, int]:
        self._host.check()
        return self._host.free(self._host.current), self._host.memory

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        self._host.check_device(device)
        return {
            "name": b"Stand-in for a GPU",
            "multiProcessorCount": 2,
            "totalGlobalMem": self._host.memory,
            "major": 8,
            "minor": 0,
        }


class CupyOnHost(ModuleType):
    """Stands in for the module `cupy`."""

    __version__ = "14.2.0"

    def __init__(
        self, memory: int = 4 << 30, devices: int = 1, driver: int = 12090, runtime: int = 12090
    ) -> None:
        super().__init__("cupy")
        self.__spec__ = ModuleSpec("cupy", None)
        self.host = host = Host(memory, devices, driver, runtime)

        def bound(kind: type) -> Any:
            return type(kind.__name__, (kind,), {"_host": host})

        self.ndarray = ndarray
        self.RawModule = bound(RawModule)
        cuda: Any = ModuleType("cupy.cuda")
        self.cuda = cuda
        cuda.Device, cuda.Stream, cuda.MemoryPool = map(bound, (Device, Stream, MemoryPool))
        cuda.MemoryPointer = MemoryPointer
        cuda.Stream.null = cuda.Stream()
        cuda.runtime = Runtime(host)
        for name, kind in (
            ("driver", errors.CUDADriverError),
            ("memory", errors.OutOfMemoryError),
            ("compiler", errors.CompileException),
        ):
            part = ModuleType(f"cupy.cuda.{name}")
            setattr(part, kind.__name__, kind)
            setattr(cuda, name, part)
        self._pool: MemoryPool = cuda.MemoryPool()

    def get_default_memory_pool(self) -> MemoryPool:
        return self._pool

    def empty(self, shape: Any, dtype: Any = float) -> ndarray:
        return new_array(self.host, shape, dtype)

    def zeros(self, shape: Any, dtype: Any = float) -> ndarray:
        array = self.empty(shape, dtype)
        array.fill(0)
        return array

    def asarray(self, a: Any, dtype: Any = None) -> ndarray:
        if isinstance(a, ndarray) and (dtype is None or a.dtype == dtype):
            return a
        if not isinstance(a, np.ndarray):
            raise TypeError(f"an array of NumPy is wanted, not a {type(a).__name__}")
        array = self.empty(a.shape, a.dtype if dtype is None else dtype)
        array.set(a.astype(array.dtype, copy=False))
        return array

    def asnumpy(self, a: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        if not isinstance(a, ndarray):
            raise TypeError(f"an array of the device is wanted, not a {type(a).__name__}")
        return a.get(out=out)


def instead_of_cupy(monkeypatch: pytest.MonkeyPatch, **settings: int) -> CupyOnHost:
    """From here on `import cupy` gives the stand-in, as long as the monkeypatch lasts."""
    cupy = CupyOnHost(**settings)
    modules = [cupy, cupy.cuda, *vars(cupy.cuda).values()]
    for module in modules:
        if isinstance(module, ModuleType):
            monkeypatch.setitem(sys.modules, module.__name__, module)
    return cupy

"""The memory of a device that is not there: arrays that NumPy cannot see into, and who pays."""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from typing import Any

import numpy as np

from tests.stand_in.errors import CUDARuntimeError, OutOfMemoryError

UNIT = 512  # CuPy's pool hands out multiples of it
GUARD = b"\xff" * UNIT  # around each allocation: NaN to read, and seen if it is written to


class Host:
    """What the stand-in is told and what it counts; CuPy has nothing of the kind.

    Bytes are those of CuPy's pool, in units of 512. `launches`, `bytes_read`, `bytes_written` and
    `flops` are counted by kernel, the last three where kernels tally them.
    """

    def __init__(self, memory: int, devices: int, driver: int, runtime: int) -> None:
        self.memory, self.devices, self.driver, self.runtime = memory, devices, driver, runtime
        self.current = 0  # the device in use
        self.used: Counter[int] = Counter()  # bytes of arrays, by device
        self.kept: Counter[int] = Counter()  # bytes that the pool has, but no array
        self.peak = 0
        self.reset()

    def reset(self) -> None:
        """Count from here on."""
        self.launches: Counter[str] = Counter()
        self.bytes_read: Counter[str] = Counter()
        self.bytes_written: Counter[str] = Counter()
        self.flops: Counter[str] = Counter()
        self.copied_to_device = self.copied_from_device = 0
        self.peak = self.allocated

    @property
    def allocated(self) -> int:
        """The bytes of all arrays that are alive."""
        return self.used.total()

    def check(self) -> None:
        """Calls that need a device fail without one, as in CUDA."""
        if self.driver // 1000 < self.runtime // 1000:
            raise CUDARuntimeError(35)
        if self.devices == 0:
            raise CUDARuntimeError(100)

    def check_device(self, device: int) -> None:
        """Devices are numbered from 0."""
        self.check()
        if not 0 <= device < self.devices:
            raise CUDARuntimeError(101)

    def free(self, device: int) -> int:
        """The bytes of a device that the pool does not have."""
        return self.memory - self.used[device] - self.kept[device]

    def take(self, size: int) -> int:
        """Pay for an allocation on the device in use."""
        self.check()
        device = self.current
        if self.used[device] + size > self.memory:
            raise OutOfMemoryError(size, self.used[device])
        self.kept[device] = max(0, self.kept[device] - size)
        self.used[device] += size
        self.peak = max(self.peak, self.allocated)
        return device

    def give_back(self, device: int, size: int) -> None:
        """What is freed stays in the pool, until `free_all_blocks`."""
        self.used[device] -= size
        self.kept[device] += size


class Allocation:
    """Bytes of a device, given back when the last array on them is gone."""

    def __init__(self, host: Host, nbytes: int) -> None:
        size = -(-nbytes // UNIT) * UNIT
        self.host, self.device = host, host.take(size)
        weakref.finalize(self, host.give_back, self.device, size).atexit = False
        raw = np.empty(size + 3 * UNIT, np.uint8)
        start = -raw.ctypes.data % UNIT + UNIT
        self.before = raw[start - UNIT : start]
        self.bytes = raw[start : start + nbytes]
        self.after = raw[start + nbytes : start + size + UNIT]
        self.mend()

    def mend(self) -> None:
        """What lies before and after is as it should be."""
        self.before.fill(0xFF)
        self.after.fill(0xFF)

    def intact(self) -> bool:
        """Nothing was written before or after the bytes."""
        before, after = self.before.tobytes(), self.after.tobytes()
        return before == GUARD and after.count(0xFF) == len(after)


def poison(dtype: np.dtype[Any]) -> Any:
    """What memory holds that was never written to."""
    if dtype.kind == "f":
        return np.nan
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    if dtype.kind == "b":
        return True
    raise TypeError(f"no arrays of {dtype} on a device")


class MemoryPointer:
    """Where an array begins on its device."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class ndarray:  # noqa: N801 - as CuPy calls it
    """An array on the device; always contiguous."""

    def __init__(self, allocation: Allocation, values: np.ndarray) -> None:
        self._allocation, self._values = allocation, values

    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    size = property(lambda self: self._values.size)
    nbytes = property(lambda self: self._values.nbytes)
    itemsize = property(lambda self: self._values.itemsize)
    ndim = property(lambda self: self._values.ndim)

    @functools.cached_property
    def data(self) -> MemoryPointer:
        """Where it begins."""
        return MemoryPointer(self._values.ctypes.data if self._values.size else 0)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: slice) -> ndarray:
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise NotImplementedError("the stand-in knows array[start:stop] only")
        return ndarray(self._allocation, self._values[key])

    def reshape(self, *shape: Any) -> ndarray:
        """A view of another shape."""
        return ndarray(self._allocation, self._values.reshape(*shape))

    def fill(self, value: Any) -> None:
        """Every element becomes the value."""
        if not np.isscalar(value):
            raise TypeError(f"not a scalar: {type(value).__name__}")
        self._values.fill(value)

    def set(self, arr: np.ndarray) -> None:
        """Copy an array of the same type and shape to the device."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        self._values[...] = arr
        self._allocation.host.copied_to_device += self.nbytes

    def get(self, *, out: np.ndarray | None = None) -> np.ndarray:
        """Copy the array from the device."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained from cupy.ndarray")
        if out.dtype != self.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual: {out.shape}")
        if not out.flags.c_contiguous:
            raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        out[...] = self._values
        self._allocation.host.copied_from_device += self.nbytes
        return out

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __eq__(self, other: object) -> bool:
        raise TypeError("the stand-in computes in kernels only")

    __hash__ = None  # type: ignore[assignment]


def new_array(host: Host, shape: Any, dtype: Any) -> ndarray:
    """An array that holds what was never written."""
    kind = np.dtype(dtype)
    value = poison(kind)
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    count = int(np.prod(sizes, dtype=np.int64))
    allocation = Allocation(host, count * kind.itemsize)
    array = ndarray(allocation, allocation.bytes.view(kind).reshape(sizes))
    array._values.fill(value)
    return array

"""The stand-in for CuPy: memory that is apart, limited and spoilt, and CuPy's own names."""

from __future__ import annotations

import gc
import inspect
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.stand_in.cupy_on_host import CupyOnHost, instead_of_cupy


@pytest.fixture
def cupy() -> CupyOnHost:
    return CupyOnHost()


def test_memory_that_was_never_written_holds_garbage(cupy: CupyOnHost) -> None:
    for kind in (np.float32, np.float64):
        assert np.isnan(cupy.empty((3, 4), kind).get()).all()
    for kind in (np.uint8, np.uint16, np.int32, np.int64):
        assert (cupy.empty(5, kind).get() == np.iinfo(kind).max).all()
    assert cupy.zeros((2, 3), np.float32).get().tolist() == [[0, 0, 0], [0, 0, 0]]


def test_arrays_of_the_device_do_not_mix_with_those_of_the_host(cupy: CupyOnHost) -> None:
    here, there = np.arange(4.0), cupy.asarray(np.arange(4.0))
    for mix in (
        lambda: np.asarray(there),
        lambda: np.add(here, there),
        lambda: here + there,
        lambda: there + here,
        lambda: np.sum(there),
        lambda: np.log(there),
        lambda: here == there,
        lambda: there == there,
        lambda: here.__setitem__(slice(None), there),
        lambda: cupy.asarray([1.0]),
        lambda: cupy.asnumpy(here),
        lambda: there.set(there),
        lambda: there.fill(here),
    ):
        with pytest.raises(TypeError):
            mix()


def test_arrays_are_copied_and_views_are_not(cupy: CupyOnHost) -> None:
    source = np.arange(12.0).reshape(4, 3)[::-1].T  # not contiguous
    array = cupy.asarray(source)
    expected = source.copy()
    source[:] = 0
    np.testing.assert_array_equal(cupy.asnumpy(array), expected)
    assert (array.shape, array.size, array.ndim, len(array)) == ((3, 4), 12, 2, 3)
    assert (array.dtype, array.nbytes, array.itemsize) == (np.dtype(np.float64), 96, 8)
    view = array[1:]
    assert view.data.ptr == array.data.ptr + 32
    view.fill(7.0)
    view.reshape(8)[:2].set(np.array([1.0, 2.0]))
    expected[1:] = 7
    expected[1, :2] = 1, 2
    out = np.empty((3, 4))
    assert array.get(out=out) is out
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(TypeError, match="float32 array cannot be set to float64 array"):
        array.set(np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match="Shape mismatch"):
        array.set(np.zeros(12))


def test_memory_is_limited_and_given_back() -> None:
    cupy = CupyOnHost(memory=4096)
    pool, device = cupy.get_default_memory_pool(), cupy.cuda.Device(0)
    first = cupy.zeros(300, np.float64)  # 2,400 bytes take 2,560
    view = first[10:20]
    assert (pool.used_bytes(), pool.total_bytes(), device.mem_info) == (2560, 2560, (1536, 4096))
    message = r"Out of memory allocating 2,048 bytes \(allocated so far: 2,560 bytes\)"
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match=message):
        cupy.empty(256, np.float64)
    del first
    assert pool.used_bytes() == 2560
    del view
    gc.collect()
    assert (pool.used_bytes(), pool.total_bytes(), device.mem_info) == (0, 2560, (1536, 4096))
    second = cupy.empty(256, np.float64)
    assert (pool.used_bytes(), pool.total_bytes()) == (2048, 2560)
    del second
    pool.free_all_blocks()
    assert pool.total_bytes() == 0
    assert cupy.cuda.runtime.memGetInfo() == (4096, 4096)
    assert (cupy.host.allocated, cupy.host.peak) == (0, 2560)


def test_memory_belongs_to_the_device_in_use() -> None:
    cupy = CupyOnHost(memory=1024, devices=2)
    assert cupy.cuda.runtime.getDeviceCount() == 2
    first = cupy.zeros(1, np.float64)
    with cupy.cuda.Device(1) as device:
        second = cupy.zeros(65, np.float64)
        assert cupy.get_default_memory_pool().used_bytes() == 1024
        assert (cupy.cuda.Device().id, device.id) == (1, 1)
    assert cupy.cuda.Device().id == 0
    assert cupy.get_default_memory_pool().used_bytes() == 512
    assert (first.size, second.size) == (1, 65)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="invalid device ordinal"):
        cupy.cuda.Device(2).use()


@pytest.mark.parametrize(
    ("settings", "status", "message"),
    [
        ({"devices": 0}, 100, "cudaErrorNoDevice: no CUDA-capable device is detected"),
        ({"driver": 0}, 35, "cudaErrorInsufficientDriver: CUDA driver version is insufficient"),
        ({"driver": 11040}, 35, "for CUDA runtime version"),
    ],
)
def test_without_a_device_calls_fail_as_in_cuda(
    settings: dict[str, int], status: int, message: str
) -> None:
    cupy = CupyOnHost(**settings)
    for call in (
        cupy.cuda.runtime.getDeviceCount,
        cupy.cuda.runtime.memGetInfo,
        lambda: cupy.cuda.runtime.getDeviceProperties(0),
        cupy.cuda.Device(0).use,
        cupy.cuda.Stream.null.synchronize,
        lambda: cupy.empty(3, np.float32),
        lambda: cupy.asarray(np.zeros(3)),
        cupy.RawModule(code="").compile,
        lambda: cupy.RawModule(code="").get_function("scale"),
    ):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match=message) as caught:
            call()
        assert caught.value.status == status
    assert cupy.cuda.runtime.driverGetVersion() == settings.get("driver", 12090)
    assert cupy.cuda.runtime.runtimeGetVersion() == 12090


def test_it_can_be_imported_as_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        stand_in = instead_of_cupy(patch, memory=1 << 20)
        import cupy
        import cupy.cuda.runtime
        from cupy.cuda.memory import OutOfMemoryError

        assert cupy is stand_in
        assert cupy.cuda.runtime.memGetInfo() == (1 << 20, 1 << 20)
        with pytest.raises(OutOfMemoryError):
            cupy.empty(1 << 20, np.float64)
    assert sys.modules.get("cupy") is not stand_in


def public(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def differences(own: Any, real: Any, path: str) -> list[str]:
    """Names that the stand-in has and CuPy does not, and arguments that CuPy does not take."""
    found = []
    for name in public(own):
        if path == "cupy" and name == "host":
            continue
        if not hasattr(real, name):
            found.append(f"{path}.{name}")
            continue
        mine, other = getattr(own, name), getattr(real, name)
        if isinstance(mine, type | ModuleType):
            found += differences(mine, other, f"{path}.{name}")
        elif inspect.isfunction(other):
            extra = set(inspect.signature(mine).parameters) - set(
                inspect.signature(other).parameters
            )
            found += [f"{path}.{name}({argument})" for argument in extra - {"self"}]
    return found


@pytest.mark.filterwarnings("ignore")
def test_cupy_has_every_name_that_the_stand_in_has(cupy: CupyOnHost) -> None:
    real = pytest.importorskip("cupy")
    assert differences(cupy, real, "cupy") == []
    for own, kind in (
        (cupy.cuda.runtime.CUDARuntimeError, real.cuda.runtime.CUDARuntimeError),
        (cupy.cuda.memory.OutOfMemoryError, real.cuda.memory.OutOfMemoryError),
    ):
        assert own.__bases__ == kind.__bases__
    for status in (2, 35, 100, 101, 700, 719):
        own, other = (c.cuda.runtime.CUDARuntimeError(status) for c in (cupy, real))
        assert (str(own), own.status) == (str(other), other.status)
    out_of_memory = (c.cuda.memory.OutOfMemoryError(5120, 2048, 4096) for c in (cupy, real))
    assert len({str(error) for error in out_of_memory}) == 1

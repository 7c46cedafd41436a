"""The stand-in for CuPy: kernels run as on a device, and what a device lets pass is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.stand_in.cupy_on_host import CupyOnHost, why_not
from tests.stand_in.errors import BarrierError

MISSING = why_not()
with_compiler = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

# Each round, every thread adds the value of its neighbour; threads of a block are a ring.
RING = """
extern "C" __global__ void ring(const double* x, double* y, int rounds, int step) {
    __shared__ double values[256];
    const int n = blockDim.x, me = threadIdx.x, other = (me + step + n) % n;
    const long long at = (long long)blockIdx.x * n + me;
    values[me] = x[at];
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
        const double sum = values[me] + values[other];
        __syncthreads(); // read
        values[me] = sum;
        __syncthreads(); // written
    }
    y[at] = values[me];
}
"""
SUMS = """
#ifndef TALLY_READ
#define TALLY_READ(bytes)
#define TALLY_WRITE(bytes)
#define TALLY_FLOPS(n)
#endif
template <typename T> __device__ __forceinline__ T sum_of_block(T* part, T value) {
    const int me = threadIdx.x;
    part[me] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (me < half) {
            TALLY_FLOPS(1);
            part[me] += part[me + half];
        }
        __syncthreads();
    }
    return part[0];
}
extern "C" __global__ void sums(const REAL* __restrict__ x, REAL* __restrict__ y) {
    __shared__ REAL part[128];
    TALLY_READ(sizeof(REAL));
    const REAL sum = sum_of_block<REAL>(part, x[blockIdx.x * blockDim.x + threadIdx.x]);
    if (threadIdx.x == 0) {
        TALLY_WRITE(sizeof(REAL));
        y[blockIdx.x] = sum;
    }
}
"""
PLAIN = """
extern "C" __global__ void scale(const double* x, double* y, double by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = by * x[i];
}
extern "C" __global__ void where(int* y) {
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int i = block * blockDim.x * blockDim.y * blockDim.z + in_block;
    y[i] = i;
}
extern "C" __global__ void previous(int* y) {
    y[blockIdx.x] = blockIdx.x == 0 ? 0 : y[blockIdx.x - 1] + 1;
}
extern "C" __global__ void reach(double* y, long long i) { y[i] = 1.0; }
extern "C" __global__ void divide(int* y, int by) { y[0] = 7 / by; }
extern "C" __global__ void deep(int* y) {
    volatile char large[1 << 20];
    large[0] = 1;
    y[0] = large[0];
}
extern "C" __global__ void kinds(unsigned short* a, unsigned int* b, unsigned char* c,
                                 long long* d, float e) {
    a[0] = b[0] = c[0] = d[0] = e;
}
__global__ void without_c_linkage(int* y) { y[0] = 1; }
"""
BARRIERS = """
extern "C" __global__ void some(int* y) {
    if (threadIdx.x < 3) __syncthreads();
    y[threadIdx.x] = 1;
}
extern "C" __global__ void first_ends(int* y) {
    if (threadIdx.x == 0) return;
    __syncthreads();
    y[threadIdx.x] = 1;
}
extern "C" __global__ void different(int* y) {
    if (threadIdx.x < 3)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 1;
}
extern "C" __global__ void all_of_them(int* y) {
    __syncthreads();
    y[threadIdx.x] = 1;
}
extern "C" __global__ void unwritten(double* y) {
    __shared__ double value[2];
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = value[0];
    __syncthreads();
    value[threadIdx.x] = y[0] + y[1];
}
"""


@pytest.fixture
def cupy() -> CupyOnHost:
    return CupyOnHost()


def ring(cupy: CupyOnHost, code: str, x: np.ndarray, rounds: int, step: int) -> np.ndarray:
    """What the kernel makes of one row for each block."""
    kernel = cupy.RawModule(code=code, options=("--std=c++17",)).get_function("ring")
    blocks, threads = x.shape
    result = cupy.empty(x.shape, np.float64)
    arguments = (cupy.asarray(x), result, np.int32(rounds), np.int32(step))
    kernel((blocks,), (threads,), arguments)
    return result.get()


def after_rounds(x: np.ndarray, rounds: int, step: int) -> np.ndarray:
    """What the kernel should make of it."""
    for _ in range(rounds):
        x = x + np.roll(x, -step, axis=1)
    return x


@with_compiler
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("threads", [1, 2, 33, 256])
def test_no_thread_passes_a_barrier_before_all_have_reached_it(
    cupy: CupyOnHost, threads: int, step: int
) -> None:
    x = np.random.default_rng(threads).integers(0, 9, (5, threads)).astype(np.float64)
    np.testing.assert_array_equal(ring(cupy, RING, x, 7, step), after_rounds(x, 7, step))


@with_compiler
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("deleted", ["__syncthreads();\n    for", "read", "written"])
def test_a_forgotten_barrier_shows(cupy: CupyOnHost, deleted: str, step: int) -> None:
    x = np.random.default_rng(0).integers(1, 9, (4, 32)).astype(np.float64)
    call = deleted if "for" in deleted else f"__syncthreads(); // {deleted}"
    code = RING.replace(call, "for" if "for" in deleted else "")
    assert code.count("__syncthreads") == 2
    assert not np.array_equal(ring(cupy, code, x, 3, step), after_rounds(x, 3, step))


@with_compiler
@pytest.mark.parametrize("real", ["float", "double"])
def test_shared_memory_is_one_for_each_block(cupy: CupyOnHost, real: str) -> None:
    dtype = np.float32 if real == "float" else np.float64
    x = np.random.default_rng(0).integers(0, 99, (40, 128)).astype(dtype)
    module = cupy.RawModule(code=SUMS, options=("--std=c++17", f"-DREAL={real}"))
    result = cupy.empty(40, dtype)
    module.get_function("sums")((40,), (128,), (cupy.asarray(x), result))
    np.testing.assert_array_equal(result.get(), x.sum(axis=1))
    host = cupy.host
    assert host.bytes_read == {"sums": x.nbytes}
    assert host.bytes_written == {"sums": 40 * dtype().itemsize}
    assert host.flops == {"sums": 40 * 127}
    other = np.dtype(np.float64 if real == "float" else np.float32)
    with pytest.raises(
        TypeError, match=f"argument 0 of kernel sums is an array of {dtype().dtype}"
    ):
        module.get_function("sums")((1,), (128,), (cupy.empty(128, other), result))


@with_compiler
def test_shared_memory_does_not_outlive_its_block(cupy: CupyOnHost) -> None:
    y = cupy.zeros(2, np.float64)
    cupy.RawModule(code=BARRIERS).get_function("unwritten")((2,), (2,), (y,))
    assert np.isnan(y.get()).all()


@with_compiler
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("some", r"3 of the 8 threads of block \(1, 0, 0\) wait at the barrier in line 3"),
        ("first_ends", "7 of the 8 threads .* but the others have ended"),
        ("different", r"wait at different barriers: lines 1\d and 1\d"),
    ],
)
def test_a_barrier_that_not_all_threads_reach_is_an_error(
    cupy: CupyOnHost, name: str, message: str
) -> None:
    module = cupy.RawModule(code=BARRIERS)
    y = cupy.zeros(8, np.int32)
    with pytest.raises(BarrierError, match=message):
        module.get_function(name)((2,), (8,), (y,))
    module.get_function("all_of_them")((2,), (8,), (y,))  # and life goes on
    assert y.get().tolist() == [1] * 8


@with_compiler
def test_every_thread_of_every_block_runs_once(cupy: CupyOnHost) -> None:
    y = cupy.empty(3 * 2 * 2 * 4 * 3 * 2, np.int32)
    cupy.RawModule(code=PLAIN).get_function("where")((3, 2, 2), (4, 3, 2), (y,))
    assert y.get().tolist() == list(range(y.size))


@with_compiler
def test_blocks_cannot_count_on_those_before_them(cupy: CupyOnHost) -> None:
    y = cupy.zeros(5, np.int32)
    cupy.RawModule(code=PLAIN).get_function("previous")((5,), (1,), (y,))
    assert y.get().tolist() != [0, 1, 2, 3, 4]


@with_compiler
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, np.zeros(4)),
        (0, None),
        (0, np.int64(0)),
        (2, 2.0),
        (2, np.float32(2)),
        (2, np.array(2.0)),
        (3, 4),
        (3, True),
        (3, np.int64(4)),
        (3, np.uint32(4)),
    ],
)
def test_arguments_of_other_types_are_errors(cupy: CupyOnHost, place: int, value: Any) -> None:
    kernel = cupy.RawModule(code=PLAIN).get_function("scale")
    x, y = cupy.asarray(np.arange(4.0)), cupy.empty(4, np.float64)
    right = (x, y, np.float64(2), np.int32(4))
    kernel((1,), (4,), right)
    assert y.get().tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=f"argument {place} of kernel scale"):
        kernel((1,), (4,), (*right[:place], value, *right[place + 1 :]))
    for wrong in (right[:3], (*right, np.int32(1))):
        with pytest.raises(TypeError, match="kernel scale has 4 arguments"):
            kernel((1,), (4,), wrong)


@with_compiler
def test_types_of_arrays_fit_the_pointers(cupy: CupyOnHost) -> None:
    kernel = cupy.RawModule(code=PLAIN).get_function("kinds")
    types = (np.uint16, np.uint32, np.uint8, np.int64)
    arrays = tuple(cupy.zeros(1, kind) for kind in types)
    kernel((1,), (1,), (*arrays, np.float32(3)))
    assert [int(array.get()[0]) for array in arrays] == [3, 3, 3, 3]
    for place, kind in enumerate((np.int16, np.int32, np.int8, np.uint64)):
        wrong = (*arrays[:place], cupy.zeros(1, kind), *arrays[place + 1 :], np.float32(3))
        with pytest.raises(TypeError, match=f"argument {place}"):
            kernel((1,), (1,), wrong)


@with_compiler
@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((0,), (1,)),
        ((1,), (0,)),
        ((1,), (1025,)),
        ((1,), (32, 33)),
        ((1,), (1, 1, 65)),
        ((1, 65536), (1,)),
        ((1, 1, 65536), (1,)),
    ],
)
def test_launches_that_no_device_accepts_are_errors(
    cupy: CupyOnHost, grid: tuple[int, ...], block: tuple[int, ...]
) -> None:
    kernel = cupy.RawModule(code=PLAIN).get_function("reach")
    with pytest.raises(cupy.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel(grid, block, (cupy.zeros(1, np.float64), np.int64(0)))
    assert not cupy.host.launches


@with_compiler
@pytest.mark.parametrize("place", [-1, 4, 1 << 40])
def test_memory_beside_an_array_is_out_of_reach(cupy: CupyOnHost, place: int) -> None:
    kernel = cupy.RawModule(code=PLAIN).get_function("reach")
    y = cupy.zeros(4, np.float64)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="illegal memory access") as caught:
        kernel((1,), (1,), (y, np.int64(place)))
    assert caught.value.status == 700
    assert "kernel reach" in caught.value.__notes__[0]
    kernel((1,), (1,), (y, np.int64(3)))
    assert y.get().tolist() == [0, 0, 0, 1]


@with_compiler
def test_a_kernel_that_fails_leaves_the_process_alive(cupy: CupyOnHost) -> None:
    module = cupy.RawModule(code=PLAIN)
    y = cupy.zeros(1, np.int32)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="unspecified launch failure"):
        module.get_function("divide")((1,), (1,), (y, np.int32(0)))
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="illegal memory access"):
        module.get_function("deep")((1,), (1,), (y,))
    module.get_function("divide")((1,), (1,), (y, np.int32(2)))
    assert y.get().tolist() == [3]


@with_compiler
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x[0] = ;", "kernels.cu:1"),
        ("int unused;", "unused"),
        ("x[0] = INFINITY;", "INFINITY"),
        ("threadIdx.x = 1;", "read-only"),
    ],
)
def test_what_nvrtc_refuses_and_what_g_plus_plus_warns_of_is_an_error(
    cupy: CupyOnHost, body: str, message: str
) -> None:
    module = cupy.RawModule(code=f'extern "C" __global__ void k(double* x) {{ {body} }}')
    with pytest.raises(cupy.cuda.compiler.CompileException, match=message):
        module.compile()


@with_compiler
def test_kernels_are_found_by_their_names(cupy: CupyOnHost) -> None:
    module = cupy.RawModule(code=PLAIN)
    for name in ("missing", "without_c_linkage"):
        with pytest.raises(cupy.cuda.driver.CUDADriverError, match="named symbol not found"):
            module.get_function(name)


@with_compiler
def test_a_changed_include_makes_another_library(cupy: CupyOnHost, tmp_path: Path) -> None:
    code = '#include "value.cuh"\nextern "C" __global__ void k(int* y) { y[0] = VALUE; }'
    for value in (3, 4):
        (tmp_path / "value.cuh").write_text(f"#define VALUE {value}\n")
        y = cupy.empty(1, np.int32)
        module = cupy.RawModule(code=code, options=(f"-I{tmp_path}",))
        module.get_function("k")((1,), (1,), (y,))
        assert y.get().tolist() == [value]


@with_compiler
def test_launches_and_copies_are_counted(cupy: CupyOnHost) -> None:
    kernel = cupy.RawModule(code=PLAIN).get_function("reach")
    y = cupy.asarray(np.zeros(8))
    for place in range(3):
        kernel((1,), (1,), (y, np.int64(place)))
    y[2:4].get()
    host = cupy.host
    assert host.launches == {"reach": 3}
    assert (host.copied_to_device, host.copied_from_device) == (64, 16)
    assert (host.allocated, host.peak) == (512, 512)
    host.reset()
    assert host.launches.total() == 0
    assert (host.copied_to_device, host.copied_from_device, host.peak) == (0, 0, 512)

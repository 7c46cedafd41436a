"""What can be wrong with a device, and what to do about it."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from spnc.data.dataset import Column
from spnc.diagnostics import Diagnostic, InputError, counted, listed

CUDA_13 = 13_000  # CUDA's versions are numbered by thousands
OUT_OF_MEMORY = 2  # the number of that error, in CUDA's runtime and driver alike
OURS = (1, 700, 716, 719)  # a wrong argument or address, a launch that failed: bugs of spnc's
INSTALL = 'pip install "spnc-forest[cuda12]"'
EITHER = f"{INSTALL}, or [cuda13] where `nvidia-smi` shows CUDA 13"
PROCESSOR = "use the CPU: `--backend numba`"
BUILDS = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")
PROBE = 'extern "C" __global__ void probe(int* found) { found[0] = 1; }'


def is_installed() -> bool:
    """Whether there is a CuPy to import."""
    return "cupy" in sys.modules or find_spec("cupy") is not None


def driver_found() -> bool:
    """Whether NVIDIA's driver is installed: much quicker than asking CuPy."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def why_not(number: int) -> Diagnostic | None:
    """Why the device of that number cannot be used; None if it can."""
    if not is_installed():
        return error("E701", "the cupy backend needs CuPy, which is not installed", help=EITHER)
    if not driver_found():
        return _no_driver()
    builds = [name for name in BUILDS if _has(name)]
    if len(builds) > 1:
        return _cannot_be_loaded(f"{listed(builds)} overwrite each other's files")
    try:
        with warnings.catch_warnings(action="ignore"):
            import cupy
        cupy.cuda.runtime  # noqa: B018 - a folder that was left behind is imported, but has none
    except Exception as problem:  # a broken installation fails in many ways
        return _cannot_be_loaded(_gist(problem.__cause__ or problem))
    try:
        with explained(cupy):
            return _unfit(cupy, number) or _probed(cupy, number)
    except InputError as problem:
        return problem.diagnostics[0]


def _has(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _unfit(cupy: Any, number: int) -> Diagnostic | None:
    """What versions and numbers say against a device."""
    driver, own = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
    if driver == 0:
        return _no_driver()
    if driver // 1000 < own // 1000:
        return _old_driver(driver, own)
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as problem:
        return _no_device(number, 0, [_gist(problem)])
    if number >= count:
        return _no_device(number, count, [])
    capability = int(cupy.cuda.Device(number).compute_capability)
    oldest = 75 if own >= CUDA_13 else 70
    if capability < oldest:
        older = f"{INSTALL}, in place of CuPy for CUDA 13, or " if capability >= 70 else ""
        return error(
            "E708",
            f"device {number} has compute capability {_halves(capability)}, and {_halves(oldest)} "
            f"is the least for CUDA {_cuda(own)}",
            help=f"{older}{PROCESSOR}",
        )
    return None


@cache
def _probed(cupy: Any, number: int) -> None:
    """Compile the smallest kernel, and load it on the device: whatever is wrong shows here."""
    with cupy.cuda.Device(number):
        cupy.RawModule(code=PROBE).get_function("probe")


@contextmanager
def explained(cupy: Any) -> Iterator[None]:
    """What CuPy raises where the machine, not spnc, is at fault, as diagnostics."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as problem:
        raise InputError([_no_memory(problem)]) from problem
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as problem:
        if problem.status in OURS:
            raise
        if problem.status == OUT_OF_MEMORY:
            raise InputError([_no_memory(problem)]) from problem
        found = error(
            "E710",
            "the device failed",
            notes=[_gist(problem)],
            help=f"see whether `nvidia-smi` still answers; meanwhile {PROCESSOR}",
        )
        raise InputError([found]) from problem
    except cupy.cuda.compiler.CompileException as problem:
        raise InputError([_not_compiled(problem)]) from problem
    except OSError as problem:
        found = error(
            "E707",
            "the compiled kernels cannot be kept",
            notes=[_gist(problem)],
            help="name a folder that can be written to in the variable CUPY_CACHE_DIR",
        )
        raise InputError([found]) from problem
    except RuntimeError as problem:
        text = str(problem).lower()
        if "nvrtc" not in text and "cuda headers" not in text:
            raise
        raise InputError([_not_compiled(problem)]) from problem


def no_room(least: float, memory: float) -> InputError:
    """Not even a few rows fit into the memory that may be used."""
    found = error(
        "E706",
        f"the circuit needs {_amount(least)} to work in, and may use {_amount(memory)}",
        help="give `memory_mb` a larger number (without it, half of what is free may be used), set "
        f"`precision: float32`, or {PROCESSOR}",
    )
    return InputError([found])


def too_many_states(columns: Sequence[Column]) -> InputError:
    """Some column has more states than 16 bits can number."""
    widest = max(columns, key=lambda column: column.states)
    found = error(
        "E709",
        f"column `{widest.name}` has {widest.states:,} states, and the cupy backend takes "
        "65,534 at most",
        help=PROCESSOR,
    )
    return InputError([found])


def error(code: str, message: str, *, notes: Sequence[str] = (), help: str) -> Diagnostic:
    """An error that has no place in a file."""
    return Diagnostic(code=code, severity="error", message=message, notes=tuple(notes), help=help)


def _cannot_be_loaded(reason: str) -> Diagnostic:
    return error(
        "E702",
        "CuPy is installed but cannot be used",
        notes=[reason],
        help=f"remove every package that `pip list` shows with cupy in its name; then {EITHER}",
    )


def _no_driver() -> Diagnostic:
    return error(
        "E703",
        "no NVIDIA driver is installed",
        help=f"install NVIDIA's driver for the device, or {PROCESSOR}",
    )


def _old_driver(driver: int, own: int) -> Diagnostic:
    if own < CUDA_13:
        what = "update the driver to 525 or newer"
    elif driver >= 12_000:
        what = f"update the driver to 580 or newer, or remove CuPy for CUDA 13 and {INSTALL}"
    else:
        what = "update the driver to 580 or newer"
    return error(
        "E704",
        f"the driver is for CUDA {_cuda(driver)}, and CuPy for CUDA {_cuda(own)}",
        help=f"{what} (`nvidia-smi` shows which there is)",
    )


def _no_device(number: int, count: int, notes: Sequence[str]) -> Diagnostic:
    there = f"there {'is' if count == 1 else 'are'} {counted(count, 'device')}"
    return error(
        "E705",
        f"there is no device {number}: {there}" if count else "there is no device to be seen",
        notes=notes,
        help="devices are numbered from 0 on; CUDA_VISIBLE_DEVICES may hide some",
    )


def _no_memory(problem: Exception) -> Diagnostic:
    return error(
        "E706",
        "the device has not enough memory",
        notes=[_gist(problem)],
        help="end what else uses the device, give `memory_mb` a smaller number so that fewer rows "
        f"are computed at once, set `precision: float32`, or {PROCESSOR}",
    )


def _not_compiled(problem: Exception) -> Diagnostic:
    return error(
        "E707",
        "the kernels cannot be compiled",
        notes=[_gist(problem)],
        help=f"the compiler library NVRTC and its headers come with {EITHER}",
    )


def _gist(problem: BaseException) -> str:
    """The first line of an error that says something."""
    lines = [line.strip() for line in str(problem).splitlines()]
    return next((line for line in lines if line.strip("=- ")), type(problem).__name__)


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _halves(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _amount(count: float) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"

"""Diagnostics about devices: what is wrong with CuPy, driver or device, and what to do."""

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

from spnc.data.columns import Column
from spnc.diagnostics import Diagnostic, InputError, counted, listed

OLDEST = 70  # compute capability 7.0: the oldest that tests compile the kernels for
OLDEST_FOR_CUDA_13 = 75  # CUDA 13 dropped older devices
CUDA_13 = 13_000  # CUDA's version numbers are 1000 · major + 10 · minor
OUT_OF_MEMORY = 2  # this error's number, in CUDA's runtime and driver alike
OURS = (1, 700, 716, 719)  # invalid argument or address, failed launch: bugs in spnc
INSTALL = 'pip install "spnc-forest[cuda12]"'
EITHER = f"{INSTALL}, or [cuda13] where `nvidia-smi` shows CUDA 13"
PROCESSOR = "use the CPU: `--backend numba`"
BUILDS = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")
PROBE = 'extern "C" __global__ void probe(int* found) { found[0] = 1; }'


def is_installed() -> bool:
    """Whether CuPy is installed."""
    return "cupy" in sys.modules or find_spec("cupy") is not None


def driver_found() -> bool:
    """Whether NVIDIA's driver is installed; much faster than importing CuPy."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def why_not(number: int) -> Diagnostic | None:
    """Return why the device with this number cannot be used; None if it can."""
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
        cupy.cuda.runtime  # noqa: B018 - missing if only a leftover folder was imported
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
    """Return what versions and numbers say against a device, if anything."""
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
    oldest = OLDEST_FOR_CUDA_13 if own >= CUDA_13 else OLDEST
    if capability < oldest:
        older = f"{INSTALL}, in place of CuPy for CUDA 13, or " if capability >= OLDEST else ""
        return error(
            "E708",
            f"device {number} has compute capability {_dotted(capability)}; "
            f"with CUDA {_cuda(own)}, spnc needs {_dotted(oldest)} or higher",
            help=f"{older}{PROCESSOR}",
        )
    return None


@cache
def _probed(cupy: Any, number: int) -> None:
    """Compile a tiny kernel and load it on the device, to find any other problem."""
    with cupy.cuda.Device(number):
        cupy.RawModule(code=PROBE).get_function("probe")


@contextmanager
def explained(cupy: Any) -> Iterator[None]:
    """Turn CuPy's errors into diagnostics where the machine, not spnc, is at fault."""
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
            help=f"check whether `nvidia-smi` still works; meanwhile {PROCESSOR}",
        )
        raise InputError([found]) from problem
    except cupy.cuda.compiler.CompileException as problem:
        raise InputError([_not_compiled(problem)]) from problem
    except OSError as problem:
        found = error(
            "E707",
            "the compiled kernels cannot be cached",
            notes=[_gist(problem)],
            help="set the variable CUPY_CACHE_DIR to a folder that can be written to",
        )
        raise InputError([found]) from problem
    except RuntimeError as problem:
        text = str(problem).lower()
        if "nvrtc" not in text and "cuda headers" not in text:
            raise
        raise InputError([_not_compiled(problem)]) from problem


def no_room(least: float, memory: float) -> InputError:
    """Return the error that not even a few rows fit into the memory that may be used."""
    found = error(
        "E706",
        f"the circuit needs at least {_amount(least)} of working memory, but may use only "
        f"{_amount(memory)}",
        help="raise `memory_mb` (if it is not set, half of the free memory may be used), set "
        f"`precision: float32`, or {PROCESSOR}",
    )
    return InputError([found])


def too_many_states(columns: Sequence[Column]) -> InputError:
    """Return the error that some column has more states than 16 bits can number."""
    widest = max(columns, key=lambda column: column.states)
    found = error(
        "E709",
        f"column `{widest.name}` has {widest.states:,} states, but the cupy backend allows "
        "at most 65,534",
        help=PROCESSOR,
    )
    return InputError([found])


def error(code: str, message: str, *, notes: Sequence[str] = (), help: str) -> Diagnostic:
    """Return an error that does not point into a file."""
    return Diagnostic(code=code, severity="error", message=message, notes=tuple(notes), help=help)


def _cannot_be_loaded(reason: str) -> Diagnostic:
    return error(
        "E702",
        "CuPy is installed but cannot be used",
        notes=[reason],
        help=f"uninstall every package with cupy in its name (see `pip list`); then {EITHER}",
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
        f"the driver supports CUDA {_cuda(driver)}, but CuPy is built for CUDA {_cuda(own)}",
        help=f"{what} (`nvidia-smi` shows the current version)",
    )


def _no_device(number: int, count: int, notes: Sequence[str]) -> Diagnostic:
    there = f"there {'is' if count == 1 else 'are'} {counted(count, 'device')}"
    return error(
        "E705",
        f"there is no device {number}: {there}" if count else "no device was found",
        notes=notes,
        help="devices are numbered from 0; the variable CUDA_VISIBLE_DEVICES may hide some",
    )


def _no_memory(problem: Exception) -> Diagnostic:
    return error(
        "E706",
        "the device does not have enough memory",
        notes=[_gist(problem)],
        help="stop other programs that use the device, lower `memory_mb` so that fewer rows are "
        f"computed at once, set `precision: float32`, or {PROCESSOR}",
    )


def _not_compiled(problem: Exception) -> Diagnostic:
    return error(
        "E707",
        "the kernels cannot be compiled",
        notes=[_gist(problem)],
        help=f"install the compiler library NVRTC and its headers: {EITHER}",
    )


def _gist(problem: BaseException) -> str:
    """Return the first line of an error message that contains text."""
    lines = [line.strip() for line in str(problem).splitlines()]
    return next((line for line in lines if line.strip("=- ")), type(problem).__name__)


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _dotted(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _amount(count: float) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"

"""Machines with and without a device, by a few words: what tests of diagnostics run on."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from spnc.backends.cupy import trouble
from tests.stand_in.cupy_on_host import CupyOnHost, instead_of_cupy
from tests.stand_in.errors import CompileException, CUDARuntimeError

# What loading a kernel may end in, with CuPy's own words.
FAILURES: dict[str, Exception] = {
    "no-nvrtc": RuntimeError(
        'Failure finding "libnvrtc.so.13 or libnvrtc.so.12": No such file: libnvrtc.so.13'
    ),
    "full": CUDARuntimeError(2),
    "taken": CUDARuntimeError(46),
    "unknown-architecture": CompileException(
        "nvrtc: error: invalid value for --gpu-architecture (-arch)\n", "", "probe.cu", ()
    ),
    "read-only": OSError(30, "Read-only file system"),
    "no-headers": RuntimeError(
        "Failed to find CUDA headers. Please install CUDA toolkit headers (e.g., pip install "
        "cupy-cuda12x[ctk]) or specify CUDA_PATH environment variable."
    ),
}


def pretend(monkeypatch: pytest.MonkeyPatch, machine: str) -> CupyOnHost | None:
    """A machine by name: `no-cupy`, `broken` (it cannot be loaded), `twice` (there are two),
    `no-driver`, one of the `FAILURES`, or settings of the stand-in such as
    `driver=11080,runtime=12090,capability=75`. The answer is the stand-in, if there is one."""
    monkeypatch.setattr(trouble, "is_installed", lambda: machine != "no-cupy")
    monkeypatch.setattr(trouble, "driver_found", lambda: machine != "no-driver")
    if machine in ("no-cupy", "no-driver"):
        return None
    if machine in ("broken", "twice"):
        monkeypatch.setitem(sys.modules, "cupy", None)  # so that it is as before in the end
        monkeypatch.delitem(sys.modules, "cupy")
        monkeypatch.syspath_prepend(str(Path(__file__).parent / machine))
        return None
    if machine in FAILURES:
        cupy = instead_of_cupy(monkeypatch)

        def fail(*_: object) -> None:
            raise FAILURES[machine]

        monkeypatch.setattr(cupy.RawModule, "get_function", fail)
        return cupy
    settings = {key: int(text) for key, text in re.findall(r"(\w+)=(\d+)", machine)}
    capability = settings.pop("capability", 80)
    cupy = instead_of_cupy(monkeypatch, **settings)
    monkeypatch.setattr(cupy.cuda.Device, "compute_capability", str(capability))
    return cupy

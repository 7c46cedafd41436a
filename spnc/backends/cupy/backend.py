"""The plug-in of the GPU backend: its options and how it is opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from spnc.common.observer import Progress
from spnc.diagnostics import Diagnostic, InputError
from spnc.program.program import Program
from spnc.registry import BACKENDS, Options, option

if TYPE_CHECKING:
    from spnc.backends.cupy.device import Device
    from spnc.backends.cupy.engine import CupyEngine


@BACKENDS.register("cupy")
@dataclass(frozen=True, kw_only=True)
class CupyBackend(Options):
    """CUDA kernels on an NVIDIA device, through CuPy."""

    priority: ClassVar[int] = 20

    device: int = option(0, "number of the device, as CUDA counts", min=0)
    precision: Literal["float64", "float32"] = option(
        "float64", "type of stored values and flows; sums are always taken in float64"
    )
    memory_mb: float | None = option(
        None, "working memory in megabytes; none: half of the device's free memory", above=0
    )

    def why_not(self) -> Diagnostic | None:
        """Return what is wrong with CuPy, the driver or the device, if anything."""
        from spnc.backends.cupy import trouble

        found = trouble.why_not(self.device)
        if found is None:
            return None
        return replace(found, span=self.span_of("device" if found.code == "E705" else ""))

    def expected_here(self) -> bool:
        """Whether CuPy or an NVIDIA driver is installed."""
        from spnc.backends.cupy import trouble

        return trouble.is_installed() or trouble.driver_found()

    def resolved(self) -> CupyBackend:
        """Return itself."""
        return self

    def prepare(self, program: Program, progress: Progress) -> None:
        """Compile the kernels, or read them from CuPy's cache."""
        del program
        progress("compiling, only once on this machine: kernels", 0, None)
        device = self._device
        with device.here():
            device.compile()

    def open(self, program: Program) -> CupyEngine:
        """Return an engine for the program."""
        from spnc.backends.cupy.engine import CupyEngine

        memory = None if self.memory_mb is None else self.memory_mb * 1e6
        return CupyEngine(program, self._device, self._real, memory)

    @property
    def _real(self) -> np.dtype[np.generic]:
        return np.dtype(self.precision)

    @cached_property
    def _device(self) -> Device:
        """The device, opened once for all programs."""
        from spnc.backends.cupy.device import Device

        trouble = self.why_not()
        if trouble is not None:
            raise InputError([trouble])
        return Device(self.device, self._real)

"""The automatic choice: the fastest backend that this machine can run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spnc.backends import Backend, Engine
from spnc.common.observer import Progress
from spnc.diagnostics import Diagnostic
from spnc.program.program import Program
from spnc.registry import BACKENDS, Options


@BACKENDS.register("auto")
@dataclass(frozen=True, kw_only=True)
class Auto(Options):
    """The fastest backend that is available on this machine."""

    priority: ClassVar[int] = -1

    def why_not(self) -> Diagnostic | None:
        """It can always run: it stands for one of the others."""
        return None

    def resolved(self) -> Backend:
        """The backend of the highest priority that can run, with its default options."""
        others: list[Backend] = [b() for name, b in BACKENDS.builtin.items() if name != "auto"]
        return max((b for b in others if b.why_not() is None), key=lambda b: b.priority)

    def prepare(self, program: Program, progress: Progress) -> None:
        """What the chosen backend needs."""
        self.resolved().prepare(program, progress)

    def open(self, program: Program) -> Engine:
        """An engine of the chosen backend."""
        return self.resolved().open(program)


def passed_over(backend: Backend) -> Diagnostic | None:
    """Why `auto` leaves the GPU out, where there is a driver or CuPy; None if all is as meant."""
    from spnc.backends.cupy import trouble

    if not isinstance(backend, Auto) or not (trouble.is_installed() or trouble.driver_found()):
        return None
    return trouble.why_not(0)

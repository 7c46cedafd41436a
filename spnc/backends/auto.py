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
        """Return None: some backend can always run."""
        return None

    def expected_here(self) -> bool:
        """Return True: it needs nothing of its own."""
        return True

    def resolved(self) -> Backend:
        """Return the backend of the highest priority that can run, with its default options."""
        return self.choose()[0]

    def choose(self) -> tuple[Backend, Diagnostic | None]:
        """Return the chosen backend, and why an expected one of higher priority cannot run."""
        others: list[Backend] = [b() for name, b in BACKENDS.builtin.items() if name != "auto"]
        passed_over = None
        for backend in sorted(others, key=lambda b: b.priority, reverse=True):
            trouble = backend.why_not()
            if trouble is None:
                return backend, passed_over
            if passed_over is None and backend.expected_here():
                passed_over = trouble
        raise RuntimeError("no backend can run")  # the NumPy backend always can

    def prepare(self, program: Program, progress: Progress) -> Diagnostic | None:
        """Prepare the chosen backend."""
        return self.resolved().prepare(program, progress)

    def open(self, program: Program) -> Engine:
        """Return an engine of the chosen backend."""
        return self.resolved().open(program)


def passed_over(backend: Backend) -> Diagnostic | None:
    """Return why `auto` does not use a faster backend that users of this machine would expect.

    None if the backend was named by the user, or the fastest expected one is used.
    """
    return backend.choose()[1] if isinstance(backend, Auto) else None

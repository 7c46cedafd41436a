"""The automatic choice: the fastest backend that this machine can run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spnc.backends import Backend, Engine
from spnc.data.progress import Progress
from spnc.program import Program
from spnc.registry import BACKENDS, Options


@BACKENDS.register("auto")
@dataclass(frozen=True, kw_only=True)
class Auto(Options):
    """The fastest backend that is available on this machine."""

    priority: ClassVar[int] = -1

    @classmethod
    def available(cls) -> bool:
        """Always: it stands for one of the others."""
        return True

    def resolved(self) -> Backend:
        """The available backend of the highest priority, with its default options."""
        others = [BACKENDS[name] for name in BACKENDS if name != "auto"]
        best = max((b for b in others if b.available()), key=lambda b: b.priority)
        return best()  # type: ignore[no-any-return]

    def prepare(self, program: Program, progress: Progress) -> None:
        """What the chosen backend needs."""
        self.resolved().prepare(program, progress)

    def open(self, program: Program) -> Engine:
        """An engine of the chosen backend."""
        return self.resolved().open(program)

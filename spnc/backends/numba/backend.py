"""The plug-in of the CPU backend: its options and how it is opened.

Nothing is compiled per circuit: the kernels take the circuit as arrays, are compiled once per
machine, and are cached on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from spnc.common.observer import Progress
from spnc.diagnostics import Diagnostic
from spnc.program.program import Program
from spnc.registry import BACKENDS, Options, option

if TYPE_CHECKING:
    from spnc.backends.numba.engine import CpuEngine


@BACKENDS.register("numba")
@dataclass(frozen=True, kw_only=True)
class NumbaBackend(Options):
    """Compiled loops on all cores that compute what is equal in the data only once."""

    priority: ClassVar[int] = 10

    threads: int | None = option(
        None,
        "number of threads; none: NUMBA_NUM_THREADS or OMP_NUM_THREADS if set, else one per core",
        min=1,
    )
    plan_rows: int = option(
        30,
        "least rows of a table for which many passes over it are planned, as in training",
        min=0,
    )

    def why_not(self) -> Diagnostic | None:
        """Return a diagnostic if numba is not installed."""
        if find_spec("numba") is not None:
            return None
        message = "the numba backend needs numba, which is not installed"
        return Diagnostic("E701", message, span=self.span_of(""), help="pip install numba")

    def expected_here(self) -> bool:
        """Return True: numba is installed with spnc."""
        return True

    def resolved(self) -> NumbaBackend:
        """Return itself."""
        return self

    def prepare(self, program: Program, progress: Progress) -> Diagnostic | None:
        """Compile the kernels that the program needs, or read them from disk."""
        from spnc.backends.numba.dense import has_dense_blocks
        from spnc.backends.numba.first_use import compile_kernels
        from spnc.backends.planning.compiling import why_not_kept

        label = "compiling, only once on this machine: kernel"
        numbers = any(not leaf.kind.is_finite for leaf in program.leaves)
        dense = has_dense_blocks(program)
        compile_kernels(dense, numbers, lambda done: progress(label, done, None))
        return why_not_kept()

    def open(self, program: Program) -> CpuEngine:
        """Return an engine for the program."""
        from spnc.backends.numba.engine import CpuEngine

        return CpuEngine(program, self.threads, self.plan_rows)

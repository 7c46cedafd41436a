"""Opens a program for drawing, with its own threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spnc.backends import Engine
from spnc.common.threads import ThreadTeam, thread_count
from spnc.program.program import Parameters, Program

if TYPE_CHECKING:
    from spnc.backends.numba.drawing import Drawing


@contextmanager
def drawing(source: Engine | Program, parameters: Parameters) -> Iterator[Drawing]:
    """Open a program, or the program of an engine, for drawing rows."""
    from spnc.backends.numba.direct import DirectPass
    from spnc.backends.numba.drawing import Drawing
    from spnc.backends.numba.engine import CpuEngine
    from spnc.backends.planning.program_index import ProgramIndex

    if isinstance(source, CpuEngine):
        yield Drawing(source.direct, parameters)
        return
    program = source if isinstance(source, Program) else source.program
    team = ThreadTeam(thread_count(None))
    try:
        yield Drawing(DirectPass(ProgramIndex(program), team), parameters)
    finally:
        team.close()

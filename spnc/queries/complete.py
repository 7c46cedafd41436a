"""Conditional sampling row by row: the missing cells of a table, given the known ones."""

from __future__ import annotations

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.program.program import Parameters, Program
from spnc.queries.drawing import drawing


def complete(
    source: Engine | Program, parameters: Parameters, table: Table, rng: np.random.Generator
) -> Floats:
    """Return the rows of a table, `[row, column]`, with every missing cell drawn.

    The missing cells of a row are drawn jointly from their exact distribution given the row's known
    cells: a sum passes the row to a child with the probability of its weight times the child's
    probability of the known cells. Known cells stay as they are, and so do all cells of a row whose
    known cells are impossible: its missing cells stay missing. The same generator gives the same
    cells, whatever the number of threads.
    """
    with drawing(source, parameters) as found:
        return found.completed(table, rng)

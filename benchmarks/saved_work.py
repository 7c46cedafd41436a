"""Print how much work the engine's plans leave, on the circuits of the speed benchmark.

    python -m benchmarks.saved_work

The columns are shares of all rows times all edges: over distinct rows; with projections onto scopes
as well; and with the factors of products in groups as well, which is what the engine does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.common.circuits import FALLBACK, SOURCES, circuit, data_of, lowered
from benchmarks.common.flat_circuit import graph_of
from spnc.backends.numba.layout import Layout
from spnc.backends.numba.layout_builder import make_layout
from spnc.backends.planning import planner
from spnc.backends.planning.encoding import encode
from spnc.backends.planning.program_index import ProgramIndex
from spnc.cli.output import table
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.program.program import Program


def operations(layout: Layout) -> int:
    """Return the operations of an upward pass: one per edge and row, or edge and projection."""
    cells, nodes = layout.cells, layout.row_nodes
    in_cells = (cells.sizes * np.diff(cells.children.starts)).sum()
    in_rows = layout.rows * (len(nodes.children.nodes) + len(nodes.cells.nodes))
    return int(in_cells + in_rows)


def left(program: Program, rows: Table, group_limit: int) -> int:
    """Return the operations of a plan with groups of at most `group_limit` projections."""
    usual, planner.GROUP_LIMIT = planner.GROUP_LIMIT, group_limit
    try:
        index = ProgramIndex(program)
        return operations(make_layout(encode(index, rows)))
    finally:
        planner.GROUP_LIMIT = usual


def datasets(names: Sequence[str]) -> dict[str, Dataset]:
    """Return the datasets that are available."""
    found = {name: data_of(name) for name in names}
    return {name: dataset for name, dataset in found.items() if dataset is not None}


def main() -> None:
    lines = []
    found = datasets([name for name in SOURCES if name != FALLBACK]) or datasets([FALLBACK])
    for name, dataset in found.items():
        rows = dataset.train.distinct()
        for kind in ("tree", "forest"):
            graph = graph_of(circuit(dataset, kind, SOURCES[name]), dataset.columns)
            program, _ = lowered(graph)
            all_work = dataset.train.rows * program.edges
            works = (rows.rows * program.edges, left(program, rows, 1), left(program, rows, 256))
            shares = [f"{100 * work / all_work:.1f}%" for work in works]
            lines.append([name, kind, f"{program.edges:,}", f"{dataset.train.rows:,}", *shares])
    head = ["data", "circuit", "edges", "rows", "distinct rows", "and scopes", "and groups"]
    print(table(head, lines, 2))


if __name__ == "__main__":
    main()

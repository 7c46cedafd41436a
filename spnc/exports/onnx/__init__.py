"""ONNX: a model's log-likelihoods, computed by ONNX Runtime or any other program that reads ONNX.

The file has one input, `rows[row, column]` of doubles, and one output, `log_likelihood[row]`. A row
is what `Model.log_likelihood` takes as an array: numbers of the table, codes of labels that are
texts, NaN for a missing value. The metadata of the file name the columns and their types.
"""

from __future__ import annotations

import json

from spnc.data.column_types import plain_type
from spnc.data.columns import Column
from spnc.diagnostics import Sink, listed
from spnc.exports.onnx.circuit import node_values
from spnc.exports.onnx.densities import DENSITIES, base_of
from spnc.exports.onnx.expressions import Expressions, Tensor
from spnc.graph.nodes import Graph
from spnc.program.lower import lower
from spnc.program.program import Program

INPUT, OUTPUT = "rows", "log_likelihood"


def write_onnx(graph: Graph, name: str, sink: Sink) -> bytes | None:
    """Return the file of a checked graph; None after reporting why there is none (E863, E864)."""
    program, parameters = lower(graph)
    _check_leaves(program, sink)
    try:
        import onnx  # noqa: F401
    except ImportError:
        sink.error(
            "E863",
            "the package onnx is needed to write ONNX files",
            help='pip install "spnc-forest[onnx]"',
        )
    if sink.failed:
        return None
    made = Expressions()
    cells = _codes(program.columns, made.input(INPUT, len(program.columns)))
    found = node_values(made, program, parameters, cells)
    # Weights add up to one only up to rounding; a row without known cells has probability one.
    found = (cells.isnan().where(0.0, 1.0).max(0).reshaped(-1) == 0.0).where(0.0, found)
    columns = [{"name": c.name, **plain_type(c)} for c in program.columns]
    about = {"spnc.name": name, "spnc.columns": json.dumps(columns)}
    return made.file(found, OUTPUT, about)


def _check_leaves(program: Program, sink: Sink) -> None:
    """Report the leaves that cannot be written: those of other packages over numbers."""
    for table in program.leaves:
        if not table.kind.is_finite and base_of(table.kind).plugin_name not in DENSITIES:
            names = sorted({program.columns[v].name for v in table.variables.tolist()})
            sink.error(
                "E864",
                f"ONNX files cannot hold leaves of the distribution `{table.distribution}`",
                notes=[f"over {listed(names)}"],
                help=f"they hold finite ones, and {', '.join(sorted(DENSITIES))}",
            )


def _codes(columns: tuple[Column, ...], rows: Tensor) -> Tensor:
    """Return `[column, row]`, with codes in place of labels that are numbers.

    A number that is no label has the code -1, which no leaf allows.
    """
    made = rows.made
    cells = rows.transposed()
    labels = {
        i: column.array_labels
        for i, column in enumerate(columns)
        if column.array_labels not in (None, tuple(range(column.states)))
    }
    if not labels:
        return cells
    parts = []
    for i in range(len(columns)):
        own = cells.take([i])
        if i in labels:
            values = made.constant([[float(x)] for x in labels[i] or ()])
            place = made.constant([[float(k + 1)] for k in range(len(labels[i] or ()))])
            code = ((own == values).where(place, 0.0)).sum(0) - 1.0
            own = own.isnan().where(own, code.reshaped(1, -1))
        parts.append(own)
    return made.joined(parts)

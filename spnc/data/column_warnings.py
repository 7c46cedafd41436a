"""Warnings about columns that are left out, say nothing, or are probably not what they seem."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.data.column_kinds import MOST_LABELS, Verdict
from spnc.data.columns import Column
from spnc.data.encoding import label_text
from spnc.data.raw_table import RawTable
from spnc.data.table import Table
from spnc.diagnostics import Sink, counted, listed

_NAMED = 100  # columns named in a warning; more would fill the screen
NEARLY_EMPTY = 0.05  # share of the cells that are present in a nearly empty column
SPARSE_GAPS = 10  # steps per value, from which whole numbers look like codes
SPARSE_ROWS = 10  # rows per value, from which whole numbers look like codes
_COMPARED_ROWS = 1024  # that show that two columns differ
_REPEATS = 2  # rows per value, from which it matters which rows have the same value
_VARIED_ROWS = 10  # rows off the most common value that a duplicate must have


def warn_of_header(table: RawTable, sink: Sink) -> None:
    """Warn of a first line that was read as data but looks like a header (W305)."""
    if table.number_header is not None:
        where = table.place_of(0)
        message = f"the first line may be a header: it holds {table.number_header}"
        help = "it was read as a row; set `header: yes` if it holds names, `header: no` if not"
        sink.warning("W305", message, where=where, help=help)


def warn_of_left_out(verdicts: Sequence[tuple[str, Verdict]], sink: Sink, where: str) -> None:
    """Warn of columns that are not modelled: W301, W302, W306, W307 and W308."""

    def named(omission: str) -> list[str]:
        return [f"`{name}`" for name, v in verdicts if v.omission == omission]

    def warn(code: str, omission: str, what: str, help: str) -> None:
        found = named(omission)
        if found:
            message = f"{counted(len(found), 'column')} {what}: {listed(found, _NAMED)}"
            sink.warning(code, message, where=where, help=help)

    warn(
        "W302",
        "empty",
        "left out for having no values",
        "check whether `missing` lists a text that is a value",
    )
    constants = [(n, v) for n, v in verdicts if v.omission == "constant"]
    if constants:
        shown = [
            f"`{n}`" + (f" (always {label_text(v.labels[0])})" if v.labels else "")
            for n, v in constants
        ]
        message = f"{counted(len(shown), 'column')} left out for having one value only: "
        help = "a constant column says nothing about the others"
        sink.warning("W301", message + listed(shown, _NAMED), where=where, help=help)
    first = next((n for n, v in verdicts if v.omission == "id"), "")
    warn(
        "W306",
        "id",
        "left out for identifying rows",
        f"to model one all the same, declare its kind: `columns: {{{first}: categorical}}`",
    )
    first = next((n for n, v in verdicts if v.omission == "labels"), "")
    warn(
        "W307",
        "labels",
        f"left out for having more than {MOST_LABELS} different labels",
        f"group them, or declare `columns: {{{first}: categorical}}`",
    )
    warn(
        "W308",
        "nested",
        "left out for holding nested values",
        "flatten them into columns of their own",
    )


def warn_of_formats(verdicts: Sequence[tuple[str, Verdict]], sink: Sink, where: str) -> None:
    """Warn of formats that were assumed (W315), and of texts with several that fit (W316)."""
    assumed: dict[str, list[str]] = {}
    doubtful: dict[tuple[str, str], list[str]] = {}
    for name, verdict in verdicts:
        if verdict.format is not None:
            assumed.setdefault(str(verdict.format), []).append(name)
        elif verdict.doubt is not None:
            doubtful.setdefault(verdict.doubt, []).append(name)
    for what, names in assumed.items():
        shown = listed([f"`{name}`" for name in names], _NAMED)
        message = f"{counted(len(names), 'column')} read as {what}: {shown}"
        help = f"to keep the texts, declare `columns: {{{names[0]}: categorical}}`"
        sink.warning("W315", message, where=where, help=help)
    for (what, help), names in doubtful.items():
        shown = listed([f"`{name}`" for name in names], _NAMED)
        message = f"{counted(len(names), 'column')} not read as numbers or dates: {shown}"
        note = f"the texts look like {what}"
        sink.warning("W316", message, where=where, notes=[note], help=help)


def warn_of_columns(
    table: Table, columns: Sequence[Column], sink: Sink, where: str, declared: Collection[str] = ()
) -> None:
    """Warn of columns that say little in the training rows, or look like something else.

    Constant (W301), without any value (W302), nearly empty (W310), sparse codes (W311), and a
    duplicate of another column (W312). What the spec has `declared` is not taken for codes.
    """
    constant, empty, rare, sparse = [], [], [], []
    varied: list[int] = []
    for i, column in enumerate(columns):
        cells = table.stored(i)
        missing = np.isnan(cells) if cells.dtype.kind == "f" else cells == np.iinfo(cells.dtype).max
        absent = int(missing.sum())
        present = cells if not absent else cells[~missing]
        name = f"`{column.name}`"
        if not len(present):
            empty.append(name)
            continue
        if len(present) <= NEARLY_EMPTY * table.rows:
            rare.append(f"{name} ({len(present):,} of {table.rows:,} rows)")
        low, high = present.min(), present.max()
        if low == high:
            constant.append(f"{name} (always {_shown(column, float(low))})")
            continue
        varied.append(i)
        if column.kind == "count" and column.name not in declared and _is_sparse(present):
            sparse.append(name)
    if empty:
        message = f"{counted(len(empty), 'column')} without any value in the training rows: "
        help = "nothing can be learned about such a column; consider leaving it out"
        sink.warning("W302", message + listed(empty, _NAMED), where=where, help=help)
    if table.rows > 1 and constant:
        message = f"{counted(len(constant), 'column')} with one value only: "
        help = "a constant column says nothing about the others; consider leaving it out"
        sink.warning("W301", message + listed(constant, _NAMED), where=where, help=help)
    if rare:
        message = f"{counted(len(rare), 'column')} with hardly any value: {listed(rare, _NAMED)}"
        help = "little can be learned about such a column; consider leaving it out"
        sink.warning("W310", message, where=where, help=help)
    if sparse:
        message = f"{counted(len(sparse), 'column')} of numbers may be codes: "
        help = f"if so, declare it: `columns: {{{sparse[0].strip('`')}: categorical}}`"
        notes = ["few values, far apart, each in many rows; modelled as counts"]
        sink.warning("W311", message + listed(sparse, _NAMED), where=where, notes=notes, help=help)
    pairs = _duplicates(table, varied)
    if pairs:
        shown = [f"`{columns[b].name}` of `{columns[a].name}`" for a, b in pairs]
        message = f"{counted(len(pairs), 'column')} with the content of another: "
        help = "each value of one goes with one value of the other; consider leaving one out"
        sink.warning("W312", message + listed(shown, _NAMED), where=where, help=help)


def _shown(column: Column, value: float) -> str:
    return label_text(column.labels[int(value)]) if column.labels is not None else f"{value:g}"


def _is_sparse(values: NDArray[np.float64]) -> bool:
    """Whether whole numbers are few, far apart and often repeated, as codes are."""
    some = np.unique(values[:_COMPARED_ROWS])
    width = float(values.max() - values.min())
    if len(some) * 2 > min(len(values), _COMPARED_ROWS) or width < SPARSE_GAPS * len(some):
        return False  # without looking at all values
    distinct = np.unique(values)
    step = float(np.gcd.reduce(distinct.astype(np.int64))) or 1.0
    steps = (distinct[-1] - distinct[0]) / step
    often = len(values) >= SPARSE_ROWS * len(distinct)
    return bool(often and len(distinct) <= MOST_LABELS and steps >= SPARSE_GAPS * len(distinct))


def _duplicates(table: Table, columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of columns that determine each other; each column once, with the first."""
    step = max(1, table.rows // _COMPARED_ROWS)
    groups: dict[bytes, list[int]] = {}
    for i in columns:
        order = _content(table.stored(i)[::step])
        counts = np.unique(order, return_counts=True)[1]
        if len(order) - int(counts.max()) >= _VARIED_ROWS:
            groups.setdefault(order.tobytes(), []).append(i)
    found = []
    for first, *others in (g for g in groups.values() if len(g) > 1):
        whole = _content(table.stored(first)).tobytes()
        found += [(first, i) for i in others if _content(table.stored(i)).tobytes() == whole]
    return sorted(found, key=lambda pair: pair[1])


def _content(cells: NDArray[Any]) -> NDArray[Any]:
    """Return what two columns must have in common to be duplicates.

    That is which cells are equal to which others. Of columns whose values hardly repeat, that
    says nothing, and it is the values themselves.
    """
    order = _first_seen(cells)
    repeats = len(order) >= _REPEATS * (int(order.max(initial=0)) + 1)
    return order if repeats or cells.dtype.kind != "f" else cells


def _first_seen(cells: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return each cell as the number of its value, by first appearance. NaN is a value."""
    _, first, inverse = np.unique(cells, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]

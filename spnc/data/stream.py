"""Data to evaluate, a piece at a time: only what a computation looks at is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spnc.common.observer import Progress
from spnc.data.arrays import WHOLE
from spnc.data.dataset import Column, Table
from spnc.data.load import load_table
from spnc.data.options import MISSING
from spnc.data.pieces import PiecewiseError, read_pieces
from spnc.data.raw import Header
from spnc.data.sources import file_path, split_scheme
from spnc.diagnostics import Sink


def stream_table(
    source: str,
    sink: Sink,
    *,
    columns: Sequence[Column],
    header: Header = "auto",
    missing: Sequence[str] = MISSING,
    offline: bool = False,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Table]]:
    """The rows of `load_table` in order, as pieces with the name of their split.

    A text or NPY file is read as the pieces are asked for. If there is a problem in it, the
    pieces before it have been given out when all the problems are reported and the pieces end.
    Anything else, and a file that is special in some way, is read into memory first.
    """
    done = 0
    if split_scheme(source, Path()) is None:
        try:
            path = file_path(source, Path())
            for table in read_pieces(
                path, columns, header=header, missing=missing, progress=progress
            ):
                done += table.rows
                yield WHOLE, table
            if done:
                return
        except PiecewiseError:
            pass
    dataset = load_table(
        source,
        sink,
        columns=columns,
        header=header,
        missing=missing,
        offline=offline,
        progress=progress,
    )
    if dataset is None:
        return
    for split, table in dataset.splits.items():
        given = done
        for piece in Table(table.values[done:], table.weights[done:]).pieces():
            yield split, piece
            given += piece.rows
            if progress is not None:
                progress(f"rows of {split}", given, table.rows)

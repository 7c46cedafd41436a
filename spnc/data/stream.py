"""Reading data for evaluation piece by piece, so that only one piece is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spnc.common.observer import Progress
from spnc.data.columns import Column
from spnc.data.dataset import UNSPLIT
from spnc.data.files import STANDARD_INPUT
from spnc.data.load import load_table
from spnc.data.odd_cells import OddCells
from spnc.data.pieces import PiecewiseError, read_pieces
from spnc.data.several_files import TableFiles
from spnc.data.sources import file_path, split_scheme
from spnc.data.table import Table
from spnc.data.table_rules import AS_MODELLED, TableRules
from spnc.diagnostics import Sink


def stream_table(
    source: str,
    sink: Sink,
    *,
    columns: Sequence[Column],
    rules: TableRules = AS_MODELLED,
    offline: bool = False,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Table]]:
    """Yield the rows of `load_table` in order, in pieces, each with the name of its split.

    Text, Parquet, Arrow and NPY files are read as pieces are requested. If there is a problem in
    the file, the pieces before it are yielded, then all problems are reported and the iteration
    ends. Other sources are read into memory first, and so are files that cannot be read in pieces.
    """
    done = 0
    if source != STANDARD_INPUT and split_scheme(source, Path()) is None:
        try:
            found = TableFiles.of(file_path(source, Path()))
            if found is None:
                raise PiecewiseError
            odd = OddCells()
            for table in read_pieces(found.files, columns, rules, odd, progress=progress):
                done += table.rows
                yield UNSPLIT, table
            if done:
                odd.warn(sink, found.path.as_posix())
                return
        except PiecewiseError:
            pass
    dataset = load_table(
        source,
        sink,
        columns=columns,
        rules=rules,
        offline=offline,
        progress=progress,
    )
    if dataset is None:
        return
    for split in dataset.splits:
        table = dataset.in_memory(split)
        given = done
        for piece in table.take(slice(done, None)).pieces():
            yield split, piece
            given += piece.rows
            if progress is not None:
                progress(f"rows of {split}", given, table.rows)

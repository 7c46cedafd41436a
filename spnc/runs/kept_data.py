"""Data that took long to read as kept work: the encoded columns, as long as the files are the same.

The kept data belong to the options of the spec and to the content of the files, by its SHA-256.
Hashing a file takes a small part of the time that parsing it takes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spnc.common.observer import Progress
from spnc.common.savepoints import Piece, Savepoints
from spnc.data.column_types import column_of, plain_type
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.data.several_files import TableFiles
from spnc.data.sources import file_path, split_scheme
from spnc.data.table import Block, Table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Diagnostic, Sink
from spnc.runs.lock import versions

NAME = "data"
SECONDS = 10.0  # data that are read faster are not kept
# Returns the kept work of an identity; the second argument is called before something is written.
Open = Callable[[str, Callable[[], None]], Savepoints]


class DataReader:
    """Reads the data of a run, as they were kept or else from their files."""

    def __init__(self, open_kept: Open, *, resuming: bool) -> None:
        self._open, self._resuming = open_kept, resuming
        self._slow: tuple[str, Dataset, list[Diagnostic]] | None = None

    def __call__(
        self,
        options: DataOptions,
        sink: Sink,
        *,
        offline: bool = False,
        progress: Progress | None = None,
        default_split: tuple[float, float, float] | None = None,
    ) -> Dataset | None:
        """Return the dataset that a spec describes, as `spnc.data.load.load` does."""
        if self._resuming:
            identity = _identity(options, default_split)
            found = (
                _restored(self._open(identity, _nothing), sink) if identity is not None else None
            )
            if found is not None:
                return found
        before, began, warned = _stamps(options), time.monotonic(), len(sink.diagnostics)
        dataset = load(
            options, sink, offline=offline, progress=progress, default_split=default_split
        )
        slow = dataset is not None and time.monotonic() - began >= SECONDS
        # Large tables are encoded in files of their own.
        if dataset is not None and before and slow and not dataset.sampled:
            identity = _identity(options, default_split)
            # A file that has changed in between is not the one that was read.
            if identity is not None and _stamps(options) == before:
                self._slow = (identity, dataset, sink.diagnostics[warned:])
        return dataset

    def keep(self, prepare: Callable[[], None]) -> None:
        """Keep the data that were read, if that took long; `prepare` is called before that."""
        if self._slow is not None:
            identity, dataset, warnings = self._slow
            self._open(identity, prepare).save(NAME, _stored(dataset, warnings))
            self._slow = None


def _nothing() -> None:
    """Prepare nothing: for reading."""


def _files(options: DataOptions) -> list[Path] | None:
    """Return the files that data are read from; None if there are other sources."""
    if options.is_given:
        return None
    found: list[Path] = []
    named = {"source": options.source} if options.source is not None else {}
    for field, text in {**named, **options.files}.items():
        base = options.base(field)
        if split_scheme(text, base) is not None:
            return None
        table = TableFiles.of(file_path(text, base))
        if table is None:
            return None
        found += table.files
    return found


def _stamps(options: DataOptions) -> list[tuple[int, int, int]]:
    """Return what changes when a file changes; nothing if there are no files."""
    try:
        found = [path.stat() for path in _files(options) or ()]
    except OSError:
        return []
    return [(about.st_size, about.st_mtime_ns, about.st_ino) for about in found]


def _identity(options: DataOptions, split: tuple[float, float, float] | None) -> str | None:
    """Return a digest of everything that a dataset depends on; None if it is not from files."""
    files = _files(options)
    if not files:
        return None
    sha = hashlib.sha256(f"{versions()}\n{options!r}\n{split!r}\n".encode())
    try:
        for path in files:
            sha.update(f"{path.name}\n".encode())
            with path.open("rb") as file:
                sha.update(hashlib.file_digest(file, "sha256").digest())
    except OSError:
        return None
    return sha.hexdigest()


def _stored(dataset: Dataset, warnings: list[Diagnostic]) -> Piece:
    """Return a dataset as plain values and arrays."""
    splits = []  # in order, which an object of JSON does not keep
    arrays: dict[str, Any] = {}
    for split in dataset.splits:
        table = dataset.in_memory(split)
        layouts = []
        for i, block in enumerate(table.blocks):
            # The order in which numbers lie in memory is that in which they are added up.
            turned = block.cells.flags.f_contiguous and not block.cells.flags.c_contiguous
            layouts.append(turned)
            arrays[f"{split}.{i}.columns"] = block.columns.astype(np.int64)
            arrays[f"{split}.{i}.cells"] = block.cells.T if turned else block.cells
        has_weights = table.weights.strides != (0,)  # else all are one
        splits.append([split, {"turned": layouts, "weighted": has_weights}])
        if has_weights:
            arrays[f"{split}.weights"] = table.weights
    about = {
        "name": dataset.name,
        "columns": [{"name": c.name, **plain_type(c)} for c in dataset.columns],
        "splits": splits,
        "cut": dataset.cut,
        "rules": dataset.rules.as_json(),
        "left_out": list(dataset.left_out.items()),
        "warnings": [d.as_json() for d in warnings],
    }
    return Piece(about, arrays)


def _restored(savepoints: Savepoints, sink: Sink) -> Dataset | None:
    """Return kept data, and report the warnings that were kept with them."""
    piece = savepoints.load(NAME)
    if piece is None:
        return None
    try:
        dataset = _dataset(piece)
        warnings = [Diagnostic.from_json(plain) for plain in piece.about["warnings"]]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        savepoints.unusable(NAME, str(error) or type(error).__name__)
        return None
    sink.diagnostics += warnings
    return dataset


def _dataset(piece: Piece) -> Dataset:
    about, arrays = piece
    columns = []
    for entry in about["columns"]:
        plain = dict(entry)
        column, problems = column_of(plain.pop("name"), plain)
        if column is None:
            raise ValueError("; ".join(problems))
        columns.append(column)
    splits = {
        str(name): _table(name, layout, arrays, len(columns)) for name, layout in about["splits"]
    }
    return Dataset(
        str(about["name"]),
        tuple(columns),
        splits,
        bool(about["cut"]),
        TableRules.from_json(about["rules"]),
        {str(name): str(why) for name, why in about["left_out"]},
    )


def _table(split: str, layout: Mapping[str, Any], arrays: Mapping[str, Any], width: int) -> Table:
    blocks = []
    for i, turned in enumerate(layout["turned"]):
        cells = arrays[f"{split}.{i}.cells"]
        blocks.append(
            Block(arrays[f"{split}.{i}.columns"].astype(np.intp), cells.T if turned else cells)
        )
    places = sorted(place for block in blocks for place in block.columns.tolist())
    rows = {block.cells.shape[1] for block in blocks}
    weights = arrays[f"{split}.weights"] if layout["weighted"] else None
    if (
        places != list(range(width))
        or len(rows) != 1
        or any(len(block.columns) != len(block.cells) for block in blocks)
    ):
        raise ValueError("its blocks are not those of a table")
    if weights is not None and (weights.shape != (rows.pop(),) or weights.dtype != np.float64):
        raise ValueError("its weights are not those of a table")
    return Table.of_blocks(blocks, weights)

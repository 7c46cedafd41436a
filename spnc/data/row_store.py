"""Large tables in the cache folder: encoded once, and used again as long as their files are equal.

A store belongs to the content of the files (SHA-256), to what the spec says of the data, and to
this version of spnc. It is made under another name, and renamed when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import spnc
from spnc.common.atomic import write_bytes
from spnc.common.cache import cache_root
from spnc.common.observer import Progress
from spnc.common.sealed import DamagedError, read_sealed_json, sealed_json
from spnc.data.column_types import column_of, plain_type
from spnc.data.dataset import Dataset
from spnc.data.large_files import large_files, load_large
from spnc.data.options import DataOptions
from spnc.data.part_files import ENDING, PartFolder, StoredPart, read_rows, write_rows
from spnc.data.parted import PartedTable, Rows
from spnc.data.several_files import TableFiles
from spnc.data.table import Table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Diagnostic, Sink

DESCRIPTION = "table.json"
VERSION = 4
OLD = 30 * 24 * 3600.0  # seconds without use after which a store is deleted
_ABANDONED = 24 * 3600.0  # seconds after which a store that was not completed is deleted


def load_stored(
    options: DataOptions,
    sink: Sink,
    *,
    progress: Progress | None = None,
    default_split: tuple[float, float, float] | None = None,
) -> Dataset | None:
    """Return a dataset of large files, in partitions on disk; None for any other data."""
    tables = large_files(options)
    if not tables:
        return None
    identity = _identity(options, tables, default_split)
    store = cache_root() / "rows" / identity
    found = _restored(store, sink)
    if found is not None:
        return found
    with _new_folder(store) as folder:
        warned = len(sink.diagnostics)
        made = load_large(
            options, tables, sink, folder, progress=progress, default_split=default_split
        )
        if made is None or folder.is_temporary:
            return made
        _describe(made, folder.path, sink.diagnostics[warned:])
        with suppress(OSError):  # another process has made the same store
            folder.path.rename(store)
    return _restored(store, Sink())


@contextmanager
def _new_folder(store: Path) -> Iterator[PartFolder]:
    """Yield a folder to make a store in; where the cache cannot be written to, a temporary one."""
    path = store.with_name(f".{store.name}.{os.getpid()}")
    try:
        path.mkdir(parents=True)
        _clean_up(store.parent)
    except OSError:
        yield PartFolder.temporary()
        return
    try:
        yield PartFolder(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _clean_up(folder: Path) -> None:
    """Delete stores that were not used for long, or not completed."""
    now = time.time()
    for store in folder.iterdir():
        with suppress(OSError):
            limit = _ABANDONED if store.name.startswith(".") else OLD
            used = max(path.stat().st_mtime for path in (store, *store.glob(DESCRIPTION)))
            if now - used > limit:
                shutil.rmtree(store, ignore_errors=True)


def _identity(
    options: DataOptions, tables: dict[str, TableFiles], split: tuple[float, float, float] | None
) -> str:
    """Return a digest of everything that a store depends on."""
    plain = f"{VERSION} {spnc.__version__} {np.__version__} {split!r} {options!r}\n"
    sha = hashlib.sha256(plain.encode())
    for name, table in tables.items():
        for path in table.files:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            sha.update(f"{name} {path.suffixes} {content}\n".encode())
    return sha.hexdigest()


def _describe(dataset: Dataset, folder: Path, warnings: list[Diagnostic]) -> None:
    """Write the description of a store, and the rows that are not in partitions."""
    splits = []
    for split, rows in dataset.splits.items():
        about: dict[str, Any] = {"rows": rows.rows, "total": rows.total}
        sample = rows if isinstance(rows, Table) else rows.sample
        about["sample"] = _named(write_rows(folder / f"{split}-sample{ENDING}", sample))
        if isinstance(rows, PartedTable):
            parts = [part for part in rows.parts if isinstance(part, StoredPart)]
            about["parts"] = [_named(part) for part in parts]
            kept = {part.path for part in parts}
            for path in folder.glob(f"{split}-[0-9]*{ENDING}"):
                if path not in kept:  # the partitions that were merged into one
                    path.unlink()
        splits.append([split, about])
    text = {
        "version": VERSION,
        "name": dataset.name,
        "columns": [{"name": c.name, **plain_type(c)} for c in dataset.columns],
        "splits": splits,
        "cut": dataset.cut,
        "rules": dataset.rules.as_json(),
        "left_out": list(dataset.left_out.items()),
        "warnings": [d.as_json() for d in warnings],
    }
    write_bytes(folder / DESCRIPTION, sealed_json(text))


def _named(part: StoredPart) -> list[Any]:
    return [part.path.name, part.rows, part.digest]


def _restored(store: Path, sink: Sink) -> Dataset | None:
    """Return the dataset in a store; None if there is none, or it was damaged."""
    try:
        about = read_sealed_json((store / DESCRIPTION).read_bytes())
        found = _dataset(store, about)
        sink.diagnostics += [Diagnostic.from_json(plain) for plain in about["warnings"]]
    except FileNotFoundError:
        return None
    except (OSError, AttributeError, DamagedError, LookupError, TypeError, ValueError):
        shutil.rmtree(store, ignore_errors=True)  # to be encoded again
        return None
    with suppress(OSError):
        os.utime(store / DESCRIPTION)  # it is in use
    return found


def _dataset(store: Path, about: dict[str, Any]) -> Dataset:
    columns = []
    for entry in about["columns"]:
        plain = dict(entry)
        column, problems = column_of(plain.pop("name"), plain)
        if column is None:
            raise ValueError("; ".join(problems))
        columns.append(column)
    splits: dict[str, Rows] = {}
    for split, own in about["splits"]:
        name, rows, digest = own["sample"]
        sample, found = read_rows(store / str(name))
        if found != digest or sample.rows != rows or sample.width != len(columns):
            raise ValueError("the sample holds other rows")
        splits[str(split)] = sample
        if "parts" in own:
            parts = tuple(StoredPart(store / str(n), int(r), str(d)) for n, r, d in own["parts"])
            splits[str(split)] = PartedTable(parts, sample, int(own["rows"]), float(own["total"]))
    return Dataset(
        str(about["name"]),
        tuple(columns),
        splits,
        bool(about["cut"]),
        TableRules.from_json(about["rules"]),
        {str(name): str(why) for name, why in about["left_out"]},
    )

"""Loading a dataset: from a spec's options, or from one source on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spnc.common.observer import Progress
from spnc.data.arrays import WHOLE
from spnc.data.columns import typed_columns, warn_of_dull_columns
from spnc.data.dataset import SPLITS, Column, Dataset, Table
from spnc.data.debd import is_local
from spnc.data.files import read_file
from spnc.data.options import MISSING, DataOptions
from spnc.data.raw import Header, RawTable
from spnc.data.sources import SCHEMES, Found, file_path, read_tables, split_scheme
from spnc.diagnostics import Sink

__all__ = ["Progress", "is_available", "load", "load_table"]


def load(
    options: DataOptions,
    sink: Sink,
    *,
    offline: bool = False,
    progress: Progress | None = None,
    default_split: tuple[float, float, float] | None = None,
) -> Dataset | None:
    """The dataset that a spec's options describe; None if an error was reported.

    With `offline`, data that would have to be downloaded is an error (E309). `default_split` is
    how rows are cut where neither the options nor the data say; `Dataset.cut` tells if they were.
    """
    if options.source is None:
        found = _load_files(options, sink, progress)
    else:
        found = read_tables(
            options.source,
            sink,
            base=options.base("source"),
            span=options.span_of("source"),
            header=options.header,
            missing=options.missing,
            offline=offline,
            progress=progress,
        )
    if found is None:
        return None
    columns = typed_columns(found.tables, sink)
    if columns is None:
        return None
    if found.has_splits and options.split is not None and options.source is not None:
        message = f"`split` has no effect: `{options.source}` has its own splits"
        sink.warning("W303", message, options.span_of("split"))
    tables = _as_tables(found)
    split = options.split if options.split is not None else default_split
    if not found.has_splits:
        parts = _split(tables[WHOLE], split, options, sink)
        if parts is None:
            return None
        tables = parts
    _warn(found, tables, columns, sink)
    cut = not found.has_splits and split is not None
    return Dataset(found.name, columns, tables, cut)


def load_table(
    source: str,
    sink: Sink,
    *,
    columns: Sequence[Column] | None = None,
    header: Header = "auto",
    missing: Sequence[str] = MISSING,
    offline: bool = False,
    progress: Progress | None = None,
) -> Dataset | None:
    """The data that a command line names; None if an error was reported.

    A source without splits of its own becomes the split "all". With `columns`, those of a model,
    the data must have the same columns (E307) and only their states (E308); otherwise the
    columns are inferred.
    """
    found = read_tables(
        source, sink, header=header, missing=missing, offline=offline, progress=progress
    )
    if found is None:
        return None
    typed = typed_columns(found.tables, sink, columns)
    if typed is None:
        return None
    tables = _as_tables(found)
    if columns is None:  # data to evaluate may well have constant columns
        _warn(found, tables, typed, sink)
    return Dataset(found.name, typed, tables)


def is_available(options: DataOptions) -> bool:
    """Whether `load` would need no download."""
    if options.source is None:
        return True
    match split_scheme(options.source, options.base("source")):
        case ("debd", name):
            return is_local(name)
    return True


def _as_tables(found: Found) -> dict[str, Table]:
    # Adding zero makes -0 (a legal way to write zero) the same bits as 0, for the digest.
    return {name: Table(raw.values + 0.0) for name, raw in found.tables.items()}


def _load_files(options: DataOptions, sink: Sink, progress: Progress | None) -> Found | None:
    """The tables of the files in `train`, `valid` and `test`, the problems of all reported."""
    tables: dict[str, RawTable] = {}
    name, complete = "", True
    for field in SPLITS:
        file = getattr(options, field)
        if file is None:
            continue
        path = file_path(file, options.base(field))
        name = name or path.name
        scheme = split_scheme(file, options.base(field))
        read = read_file(
            path,
            sink,
            span=options.span_of(field),
            header=options.header,
            missing=options.missing,
            progress=progress,
            help="a dataset by name goes into `source`"
            if scheme and scheme[0] in SCHEMES
            else None,
        )
        if read is not None and WHOLE not in read:
            message = f"a file for `{field}` holds one array, but this one holds several"
            hint = "give the file as `source`, and its arrays are the splits"
            sink.error("E311", message, help=hint, where=path.as_posix())
            read = None
        if read is None:
            complete = False
        else:
            tables[field] = read[WHOLE]
    if not tables and complete:
        sink.error("E302", "no data is given", options.span_of(""), help="set `source` or `train`")
        return None
    if not complete:
        if tables:  # the other files may have problems too, and all are to be told
            typed_columns(tables, sink)
        return None
    return Found(name, tables)


def _split(
    whole: Table, split: tuple[float, ...] | None, options: DataOptions, sink: Sink
) -> dict[str, Table] | None:
    """The rows shuffled and cut by the fractions; without fractions all are for training."""
    if split is None:
        return {"train": whole}
    parts = split_rows(split, options.split_seed, whole.rows)
    tables: dict[str, Table] = {}
    complete = True
    for name, fraction, rows in zip(SPLITS, split, parts, strict=True):
        if fraction == 0:
            continue
        tables[name] = Table(whole.values[rows])
        if len(rows) == 0:
            complete = False
            message = f"the {name} split gets no rows: {fraction:g} of {whole.rows:,}"
            hint = "give it a larger fraction, or 0 to leave it out"
            sink.error("E306", message, options.span_of("split"), help=hint)
    return tables if complete else None


def split_rows(fractions: Sequence[float], split_seed: int, rows: int) -> list[NDArray[np.int64]]:
    """Which of so many rows, counted from zero, a fractional split gives to each part."""
    seed = np.random.SeedSequence(split_seed)
    order = np.random.default_rng(seed).permutation(rows)
    bounds = np.rint(np.cumsum(fractions) * rows).astype(int).clip(0, rows)
    return np.split(order, bounds[:-1])


def _warn(found: Found, tables: Mapping[str, Table], columns: Sequence[Column], sink: Sink) -> None:
    """Warn about the columns of the rows to train on, if the user can change them."""
    name = "train" if "train" in tables else WHOLE
    if found.published or name not in tables:
        return
    raw = found.tables.get(name) or found.tables[WHOLE]
    warn_of_dull_columns(tables[name].values, columns, sink, where=raw.file)

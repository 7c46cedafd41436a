"""Loading a dataset: from the options of a spec, or from one source on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spnc.common.observer import Progress
from spnc.data.assembly import Assembled, assembled, fitted, with_scales
from spnc.data.column_warnings import warn_of_columns
from spnc.data.columns import Column
from spnc.data.dataset import SPLITS, UNSPLIT, Dataset
from spnc.data.debd import is_local
from spnc.data.declared import rules_by_name
from spnc.data.joined_files import read_path
from spnc.data.odd_cells import OddCells
from spnc.data.options import DataOptions
from spnc.data.parted import PartedTable, partitioned
from spnc.data.raw_table import RawColumn, RawTable
from spnc.data.row_store import load_stored
from spnc.data.several_files import TableFiles, table_name
from spnc.data.shard_loading import load_files_elsewhere, load_shards
from spnc.data.sources import SCHEMES, SourceTables, file_path, read_tables, split_scheme
from spnc.data.table import Table
from spnc.data.table_rules import AS_MODELLED, TableRules
from spnc.data.text_values import cleaned, holds_words
from spnc.diagnostics import Sink


def load(
    options: DataOptions,
    sink: Sink,
    *,
    offline: bool = False,
    progress: Progress | None = None,
    default_split: tuple[float, float, float] | None = None,
) -> Dataset | None:
    """Return the dataset that a spec describes; None after reporting an error.

    With `offline`, data that would have to be downloaded is an error (E309). If neither
    the options nor the data say how rows are split, `default_split` applies; `Dataset.cut` says
    whether rows were split by fractions.
    """
    if options.shards is not None:
        loaded = load_shards(options, sink, progress=progress, default_split=default_split)
        if loaded is None:
            return None
        found, options = loaded
    else:
        found = load_files_elsewhere(
            options, sink, progress=progress, default_split=default_split
        ) or load_stored(options, sink, progress=progress, default_split=default_split)
    if found is None:
        found = _load_whole(options, sink, offline, progress, default_split)
    return None if found is None else _elsewhere(found, options)


def _elsewhere(dataset: Dataset, options: DataOptions) -> Dataset:
    """Return the dataset, with passes over its partitions where the options say."""
    if options.elsewhere is None or not dataset.sampled:
        return dataset
    splits = {
        name: replace(rows, passes=options.elsewhere.passes(rows))
        if isinstance(rows, PartedTable) and len(rows.parts) > 1
        else rows
        for name, rows in dataset.splits.items()
    }
    return replace(dataset, splits=splits)


def _load_whole(
    options: DataOptions,
    sink: Sink,
    offline: bool,
    progress: Progress | None,
    default_split: tuple[float, float, float] | None,
) -> Dataset | None:
    """Return the dataset from files that are read as a whole, or other sources."""
    if options.table is not None:
        # Loading takes the columns out of the table, and there may be another time.
        whole = replace(options.table, columns=list(options.table.columns))
        found: SourceTables | None = SourceTables("data", {UNSPLIT: whole})
    elif options.source is None:
        found = _load_files(options, sink, progress)
    else:
        found = read_tables(
            options.source,
            sink,
            base=options.base("source"),
            span=options.span_of("source"),
            rules=options.text_rules,
            offline=offline,
            progress=progress,
        )
    if found is None:
        return None
    made = assembled(found.tables, options, sink, published=found.published)
    if made is None:
        return None
    if found.has_splits and options.split is not None and options.source is not None:
        message = f"`split` has no effect: `{options.source}` has its own splits"
        sink.warning("W303", message, options.span_of("split"))
    split = options.fractions if options.split is not None else default_split
    cut = not found.has_splits and split is not None
    where = next(iter(found.tables.values())).file
    name, published = found.name, found.published
    del found  # its memory is no longer needed
    tables = made.tables() if UNSPLIT not in made.cells else _split(made, split, options, sink)
    if tables is None:
        return None
    if options.folds is not None:
        tables = _joined(tables)
    columns = with_scales(made.columns, tables["train"], options)
    if not published:
        declared = rules_by_name([c.name for c in columns], options, Sink())
        warn_of_columns(tables["train"], columns, sink, where, declared)
    splits = {
        split: partitioned(table, options.partition_rows, options.split_seed, split)
        for split, table in tables.items()
    }
    return Dataset(name, columns, splits, cut, made.rules, made.left_out)


def load_table(
    source: str | RawTable,
    sink: Sink,
    *,
    columns: Sequence[Column] | None = None,
    rules: TableRules = AS_MODELLED,
    offline: bool = False,
    progress: Progress | None = None,
) -> Dataset | None:
    """Return the data that a command line names, or a table from Python; None after an error.

    A source without splits becomes the split "all". With `columns` and `rules`, those of a model,
    columns are matched by name: an absent one is missing in every row, an unknown one (E307) and
    a value that the column cannot have (E308) are errors. Otherwise columns are inferred.
    """
    found: SourceTables | None
    if isinstance(source, RawTable):
        found = SourceTables(source.file, {UNSPLIT: source})
    else:
        reading = rules.text_rules(columns or ())
        found = read_tables(source, sink, rules=reading, offline=offline, progress=progress)
    if found is None:
        return None
    if columns is not None:
        odd = OddCells()
        tables = fitted(found.tables, columns, rules, sink, odd)
        odd.warn(sink)
        return None if tables is None else Dataset(found.name, tuple(columns), tables, rules=rules)
    options = DataOptions(source=found.name, header=rules.header, missing=rules.missing)
    made = assembled(found.tables, options, sink, published=found.published)
    if made is None:
        return None
    tables = made.tables()
    first = tables.get("train", next(iter(tables.values())))
    typed = with_scales(made.columns, first)
    if not found.published:
        warn_of_columns(first, typed, sink, next(iter(found.tables.values())).file)
    return Dataset(found.name, typed, tables, rules=made.rules, left_out=made.left_out)


def is_available(options: DataOptions) -> bool:
    """Whether `load` needs no download."""
    if options.source is None or options.is_given:
        return True
    match split_scheme(options.source, options.base("source")):
        case ("debd", name):
            return is_local(name)
    return True


def _load_files(options: DataOptions, sink: Sink, progress: Progress | None) -> SourceTables | None:
    """Return the tables in the files `train`, `valid` and `test`; report the problems of all."""
    tables: dict[str, RawTable] = {}
    name, complete = "", True
    for field, file in options.files.items():
        path = file_path(file, options.base(field))
        name = name or table_name(path)
        scheme = split_scheme(file, options.base(field))
        read = read_path(
            path,
            sink,
            span=options.span_of(field),
            rules=options.text_rules,
            progress=progress,
            help="a named dataset goes into `source`" if scheme and scheme[0] in SCHEMES else None,
        )
        if read is not None and UNSPLIT not in read:
            message = f"a file for `{field}` must hold one array, but this one holds several"
            hint = "give the file as `source`: its arrays are then the splits"
            sink.error("E311", message, help=hint, where=path.as_posix())
            read = None
        if read is None:
            complete = False
        else:
            tables[field] = read[UNSPLIT]
    if not tables and complete:
        sink.error("E302", "no data is given", options.span_of(""), help="set `source` or `train`")
        return None
    if not complete:
        if tables:  # report the problems of the other files as well
            assembled(tables, options, sink, published=True)
        return None
    _read_codes_again(tables, options)
    return SourceTables(name, tables)


def _read_codes_again(tables: dict[str, RawTable], options: DataOptions) -> None:
    """Read text files again that have numbers in a column with words in another file.

    A number does not tell whether it was written as 1 or as 01.
    """
    names = next((t.names for t in tables.values() if t.names is not None), None)

    def named(table: RawTable) -> Iterator[tuple[str, RawColumn]]:
        return zip(table.names or names or table.column_names, table.columns, strict=False)

    pairs = [pair for table in tables.values() for pair in named(table)]
    numbers = {name for name, c in pairs if c.kind == "numbers" and not c.is_empty}
    texts = {n for n, c in pairs if n in numbers and holds_words(cleaned(c, options.missing))}
    order = () if names is None else (names,)
    rules = options.text_rules
    rules = replace(rules, texts=rules.texts | texts, orders=order)
    for field, table in tables.items():
        path = file_path(getattr(options, field), options.base(field))
        lossy = any(c.kind == "numbers" for name, c in named(table) if name in texts)
        if lossy and table.is_text and TableFiles.of(path) is not None:
            again = read_path(path, Sink(), rules=rules)  # its problems have been reported
            if again is not None:
                tables[field] = again[UNSPLIT]


def _split(
    made: Assembled, split: tuple[float, ...] | None, options: DataOptions, sink: Sink
) -> dict[str, Table] | None:
    """Shuffle the rows and split them by the fractions; without fractions all are for training."""
    if split is None:
        return {"train": made.tables()[UNSPLIT]}
    total = len(made.cells[UNSPLIT][0])
    parts: dict[str, NDArray[np.int64]] = {}
    complete = True
    shuffled = split_rows(split, options.split_seed, total)
    for name, fraction, rows in zip(SPLITS, split, shuffled, strict=True):
        if fraction == 0:
            continue
        parts[name] = rows
        if len(rows) == 0:
            complete = False
            message = f"the {name} split gets no rows: {fraction:g} of {total:,}"
            hint = "give this split a larger fraction, or 0 to leave it out"
            sink.error("E306", message, options.span_of("split"), help=hint)
    if not complete:
        return None
    return dict(zip(parts, made.parts(UNSPLIT, list(parts.values())), strict=True))


def _joined(tables: dict[str, Table]) -> dict[str, Table]:
    """Return the tables with the validation rows after the training rows, as one."""
    if "valid" not in tables:
        return tables
    both = [tables.pop("train"), tables.pop("valid")]
    cells = [np.concatenate([table.stored(c) for table in both]) for c in range(both[0].width)]
    weights = np.concatenate([table.weights for table in both])
    even = bool((weights == 1.0).all())
    return {"train": Table.of_columns(cells, None if even else weights), **tables}


def split_rows(fractions: Sequence[float], split_seed: int, rows: int) -> list[NDArray[np.int64]]:
    """Return the row indices of each part of a split by fractions."""
    seed = np.random.SeedSequence(split_seed)
    order = np.random.default_rng(seed).permutation(rows)
    bounds = np.rint(np.cumsum(fractions) * rows).astype(int).clip(0, rows)
    return np.split(order, bounds[:-1])

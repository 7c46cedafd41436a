"""Reading what a path names: a file, or several files as one table, one below another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from spnc.common.limits import LimitError
from spnc.common.observer import Progress
from spnc.data.arrow_files import Tables
from spnc.data.compression import CompressionError
from spnc.data.dataset import UNSPLIT
from spnc.data.files import read_file
from spnc.data.raw_table import FileRows, RawKind, RawTable
from spnc.data.scanning import together
from spnc.data.several_files import TableFiles, found_files, names_several
from spnc.data.text_forms import TextForm, text_form
from spnc.data.text_rules import UNKNOWN_TABLE, TextRules
from spnc.diagnostics import Diagnostic, Sink, Span, counted, listed

_SAME = "all files of a table must have the same columns, in any order"
_NO_ROWS = "E306"
_KINDS: dict[RawKind, str] = {"other": "nested values"}


def read_path(
    path: Path,
    sink: Sink,
    *,
    span: Span | None = None,
    rules: TextRules = UNKNOWN_TABLE,
    progress: Progress | None = None,
    help: str | None = None,
) -> Tables | None:
    """Return the tables that a path names, by split; None if none could be read.

    A folder, or a name with a wildcard, stands for several files, which are one table. All problems
    of all of them are reported, as `read_file` does.
    """
    if not names_several(path):
        return read_file(path, sink, span=span, rules=rules, progress=progress, help=help)
    found = found_files(path, sink, span, help)
    if found is None:
        return None
    if len(found.files) == 1:
        return read_file(found.files[0], sink, span=span, rules=rules, progress=progress)
    table = _Reading(found, rules, span, progress).table(sink)
    return None if table is None else {UNSPLIT: table}


class _Reading:
    """Reads the files of one table."""

    def __init__(
        self, found: TableFiles, rules: TextRules, span: Span | None, progress: Progress | None
    ) -> None:
        self._files, self._where = found.files, found.path.as_posix()
        self._rules, self._span, self._progress = rules, span, progress

    def table(self, sink: Sink) -> RawTable | None:
        """Return the rows of all files; None after reporting why there are none."""
        try:
            form = text_form(self._files, self._rules)
        except (CompressionError, LimitError, OSError):
            form = TextForm(self._files[0])  # reading the file reports the problem
        tables = self._read(form, sink)
        complete = len(tables) == len(self._files)
        tables = {file: table for file, table in tables.items() if table.rows}
        if not tables:
            if complete:
                message = f"no file of `{self._where}` has rows"
                sink.error(_NO_ROWS, message, self._span, where=self._where)
            return None
        agree = _match(tables, sink)
        if agree is None:
            return None
        agree = self._with_texts(agree, form)
        mixed = _mixed(agree.values())
        if mixed:
            _report_kinds(agree, mixed, sink)
            return None
        columns = together(list(agree.values()))
        first = next(iter(agree.values()))
        rows, files = 0, []
        for table in agree.values():
            files.append(FileRows(table.file, rows, table.lines))
            rows += table.rows
        return replace(
            first,
            file=self._where,
            columns=columns,
            lines=None,
            sound=complete and all(table.sound for table in agree.values()),
            number_header=form.doubt,
            index=frozenset[str]().union(*(table.index for table in agree.values())),
            files=tuple(files),
        )

    def _read(self, form: TextForm, sink: Sink) -> dict[Path, RawTable]:
        """Return the tables of the files that can be read, without rows where there are none."""
        found = {}
        warned: dict[str, list[Diagnostic]] = {}  # by code; files are often alike
        for file in self._files:
            own = Sink()
            table = self._one(file, form, self._rules, own)
            if [d.code for d in own.diagnostics if d.severity == "error"] == [_NO_ROWS]:
                found[file] = RawTable(file.as_posix(), [])
                continue
            for each in own.diagnostics:
                if each.severity == "error":
                    sink.diagnostics.append(each)
                else:
                    warned.setdefault(each.code, []).append(each)
            if table is not None:
                found[file] = table
        for first, *others in warned.values():
            more = [f"the same in {counted(len(others), 'more file')}"] if others else []
            sink.diagnostics.append(replace(first, notes=(*first.notes, *more)))
        return found

    def _one(self, file: Path, form: TextForm, rules: TextRules, sink: Sink) -> RawTable | None:
        """Return the table of a file; None after reporting a problem."""
        try:
            problem = form.problem(file, rules)
        except (CompressionError, LimitError, OSError):
            problem = None  # reading the file reports it
        if problem is not None:
            message, help = problem
            sink.error("E307", message, where=file.as_posix(), help=help)
            return None
        tables = read_file(
            file,
            sink,
            span=self._span,
            rules=form.rules(rules),
            progress=self._progress,
            delimiter=form.delimiter,
        )
        return None if tables is None else tables.get(UNSPLIT)

    def _with_texts(self, tables: dict[Path, RawTable], form: TextForm) -> dict[Path, RawTable]:
        """Return the tables, where text files are read again that have numbers among texts.

        A number does not tell whether it was written as 1 or as 01.
        """
        mixed = _mixed(tables.values())
        if not mixed or form.delimiter is None:
            return tables
        rules = replace(self._rules, texts=self._rules.texts | self._named(tables, mixed))
        again = {}
        for file, table in tables.items():
            columns = zip(table.column_names, table.columns, strict=True)
            if any(name in mixed and column.kind != "texts" for name, column in columns):
                own = Sink()  # its problems have been reported
                read = self._one(file, form, rules, own)
                if read is not None:
                    again[file] = read
        return _match({**tables, **again}, Sink()) or tables

    def _named(self, tables: dict[Path, RawTable], mixed: frozenset[str]) -> frozenset[str]:
        """Return the names of columns as rules for texts know them."""
        table = next(iter(tables.values()))
        if table.names is not None:
            return mixed
        orders = (order for order in self._rules.orders if len(order) == table.width)
        names = next(orders, table.column_names)
        return frozenset(n for n, x in zip(names, table.column_names, strict=True) if x in mixed)


# ---- columns -------------------------------------------------------------------------------------


def _match(tables: dict[Path, RawTable], sink: Sink) -> dict[Path, RawTable] | None:
    """Return tables with the columns of the first one; None after reporting differences (E307)."""
    first = next(iter(tables.values()))
    every = set.intersection(*(set(table.names or ()) for table in tables.values()))
    # The index of pandas names rows, which may have no names in some of the files.
    index = frozenset[str]().union(*(table.index for table in tables.values())) - every
    wanted = None
    if first.names is not None:
        wanted = tuple(name for name in first.names if name not in index)
    found: dict[Path, RawTable] = {}
    for file, table in tables.items():
        notes = _difference(table, first, index)
        if notes:
            message = f"`{file.name}` does not have the columns of `{Path(first.file).name}`"
            sink.error("E307", message, notes=notes, help=_SAME, where=file.as_posix())
        else:
            found[file] = table if wanted is None else table.in_order(wanted)
    return found if len(found) == len(tables) else None


def _difference(table: RawTable, first: RawTable, index: frozenset[str]) -> list[str]:
    """Return how the columns of a table differ from those of the first one; nothing if not."""
    if table.names is None or first.names is None:
        if table.width == first.width and (table.names is None) == (first.names is None):
            return []
        named = " without names" if table.names is None else ""
        others = " without names" if first.names is None else ""
        return [f"{counted(table.width, 'column')}{named} here, {first.width:,}{others} there"]
    here, there = set(table.names) - index, set(first.names) - index
    absent = [f"`{name}`" for name in first.names if name in there - here]
    extra = [f"`{name}`" for name in table.names if name in here - there]
    notes = [f"not here: {listed(absent)}"] if absent else []
    return [*notes, f"only here: {listed(extra)}"] if extra else notes


def _mixed(tables: Iterable[RawTable]) -> frozenset[str]:
    """Return the columns that hold values of different kinds in different tables."""
    kinds: dict[str, set[RawKind]] = {}
    for table in tables:
        for name, column in zip(table.column_names, table.columns, strict=True):
            if not column.is_empty:
                kinds.setdefault(name, set()).add(column.kind)
    return frozenset(name for name, found in kinds.items() if len(found) > 1)


def _report_kinds(tables: dict[Path, RawTable], names: frozenset[str], sink: Sink) -> None:
    """Report columns that hold values of different kinds in different files (E307)."""
    for place, name in enumerate(next(iter(tables.values())).column_names):
        if name not in names:
            continue
        files: dict[str, list[str]] = {}
        for file, table in tables.items():
            column = table.columns[place]
            if not column.is_empty:
                files.setdefault(_KINDS.get(column.kind, column.kind), []).append(f"`{file.name}`")
        (kind, own), *others = files.items()
        for other, there in others:
            message = f"column `{name}` holds {other} in {there[0]}, and {kind} in {own[0]}"
            notes = [f"{what}: {listed(which)}" for what, which in files.items()]
            help = "write the column with the same type in all files"
            where = next(f for f in tables if f"`{f.name}`" == there[0])
            sink.error("E307", message, notes=notes, help=help, where=where.as_posix())

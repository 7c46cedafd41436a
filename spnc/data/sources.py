"""Reading what a `source` names: a built-in dataset, a public one, a file or several."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from spnc.common.observer import Progress
from spnc.data.builtin import read_builtin
from spnc.data.dataset import UNSPLIT
from spnc.data.debd import read_debd
from spnc.data.files import STANDARD_INPUT, read_standard_input
from spnc.data.joined_files import read_path
from spnc.data.raw_table import RawTable
from spnc.data.several_files import table_name
from spnc.data.text_rules import UNKNOWN_TABLE, TextRules
from spnc.diagnostics import Sink, Span, nearest

SCHEMES = ("builtin", "debd")
FROM_PYTHON = "python:data"  # the source of a spec whose table was given in Python
# A scheme has at least two characters: one letter is a Windows drive.
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+._-]+):(?P<name>.*)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class SourceTables:
    """The tables of a source by split, "all" if it has no splits of its own.

    `published` marks data that the user cannot change, so that warnings about it are pointless.
    """

    name: str
    tables: dict[str, RawTable]
    published: bool = False

    @property
    def has_splits(self) -> bool:
        """Whether the source itself says which rows are for training."""
        return UNSPLIT not in self.tables


def split_scheme(source: str, base: Path) -> tuple[str, str] | None:
    """Split `scheme:name` into a pair; None for a file, even one with a colon in its name."""
    match = _SCHEME.fullmatch(source)
    if match is None or file_path(source, base).exists():
        return None
    return match["scheme"], match["name"]


def file_path(source: str, base: Path) -> Path:
    """Return the file that `source` names, relative to `base`; `~` is the home folder.

    `~name` is a file of that name if there is no such user.
    """
    if source.startswith("~"):
        with suppress(RuntimeError):
            return base / Path(source).expanduser()
    return base / source


def read_tables(
    source: str,
    sink: Sink,
    *,
    base: Path = Path(),
    span: Span | None = None,
    rules: TextRules = UNKNOWN_TABLE,
    offline: bool = False,
    progress: Progress | None = None,
) -> SourceTables | None:
    """Return the tables that `source` names; None after reporting a problem."""
    if source == STANDARD_INPUT:
        tables = read_standard_input(sink, rules=rules)
        return None if tables is None else SourceTables("standard input", tables)
    pair = split_scheme(source, base)
    if pair is None:
        path = file_path(source, base)
        tables = read_path(path, sink, span=span, rules=rules, progress=progress)
        return None if tables is None else SourceTables(table_name(path), tables)
    scheme, name = pair
    if scheme == "builtin":
        tables = read_builtin(name, sink, span=span)
    elif scheme == "debd":
        tables = read_debd(name, sink, span=span, offline=offline, progress=progress)
    elif source == FROM_PYTHON:
        message = "this spec was trained on a table that was given in Python, which is not here"
        sink.error("E302", message, span, help="give the table again: spnc.train(spec, data=table)")
        return None
    else:
        near = nearest(scheme, SCHEMES)
        hint = "give a file, a folder, `builtin:NAME` or `debd:NAME`"
        if near is not None:
            hint = f"did you mean `{near}:{name}`?"
        sink.error("E317", f"`{scheme}:` is not a kind of data source", span, help=hint)
        return None
    return None if tables is None else SourceTables(source, tables, published=True)

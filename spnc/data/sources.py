"""What a `source` text names: a built-in dataset, one of the public collection, or a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spnc.common.observer import Progress
from spnc.data.arrays import WHOLE
from spnc.data.builtin import BUILTINS
from spnc.data.debd import read_debd
from spnc.data.files import read_file
from spnc.data.options import MISSING
from spnc.data.raw import Header, RawTable
from spnc.diagnostics import Sink, Span, did_you_mean, nearest

SCHEMES = ("builtin", "debd")
# At least two characters, so that a Windows drive is not a scheme.
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+._-]+):(?P<name>.*)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Found:
    """The tables of a source by split, "all" if it has no splits of its own.

    `published` marks data that comes as it is: no use in warning the user about its columns.
    """

    name: str
    tables: dict[str, RawTable]
    published: bool = False

    @property
    def has_splits(self) -> bool:
        """Whether the source itself says which rows are for training."""
        return WHOLE not in self.tables


def split_scheme(source: str, base: Path) -> tuple[str, str] | None:
    """`scheme:name` as a pair; None if the source is a file, also one with a colon in its name."""
    match = _SCHEME.fullmatch(source)
    if match is None or file_path(source, base).exists():
        return None
    return match["scheme"], match["name"]


def file_path(source: str, base: Path) -> Path:
    """The file that `source` names: relative to `base`, `~` being the home folder."""
    if source.startswith("~"):
        return base / Path(source).expanduser()
    return base / source


def read_tables(
    source: str,
    sink: Sink,
    *,
    base: Path = Path(),
    span: Span | None = None,
    header: Header = "auto",
    missing: Sequence[str] = MISSING,
    offline: bool = False,
    progress: Progress | None = None,
) -> Found | None:
    """The tables that `source` names; None if something was reported."""
    pair = split_scheme(source, base)
    if pair is None:
        path = file_path(source, base)
        tables = read_file(path, sink, span=span, header=header, missing=missing, progress=progress)
        return None if tables is None else Found(path.name, tables)
    scheme, name = pair
    if scheme == "debd":
        tables = read_debd(name, sink, span=span, offline=offline, progress=progress)
        return None if tables is None else Found(source, tables, published=True)
    if scheme == "builtin":
        if name in BUILTINS:
            return Found(source, {WHOLE: BUILTINS[name].table()}, published=True)
        hint = did_you_mean(source, [f"builtin:{known}" for known in BUILTINS])
        sink.error("E301", f"there is no dataset `{source}`", span, help=hint)
        return None
    near = nearest(scheme, SCHEMES)
    hint = "give a file, `builtin:NAME` or `debd:NAME`"
    if near is not None:
        hint = f"did you mean `{near}:{name}`?"
    sink.error("E317", f"`{scheme}:` is not a kind of data source", span, help=hint)
    return None

"""How the texts of a table in several files are laid out: alike, a header in each or in none."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spnc.data.compression import decompressing
from spnc.data.files import TEXT_TYPES, file_type
from spnc.data.raw_table import default_name
from spnc.data.text_cells import is_typed, records
from spnc.data.text_layout import SNIFFED_BYTES, Layout, found_layout
from spnc.data.text_rules import TextRules
from spnc.data.text_tables import text_start

_EACH_OR_NONE = "each file has a header, or none of them; with `header: no`, first lines are rows"


@dataclass(frozen=True)
class TextForm:
    """The delimiter of all files of a table, and whether each has a header; None if not texts.

    `first` are the cells of the first line of the first file, which is `file`. `doubt` is that
    about the first line.
    """

    file: Path
    delimiter: str | None = None
    is_header: bool = False
    first: tuple[str, ...] = ()
    doubt: str | None = None

    def rules(self, rules: TextRules) -> TextRules:
        """Return the rules for one of the files."""
        if self.delimiter is None:
            return rules
        return replace(rules, header="yes" if self.is_header else "no")

    def problem(self, file: Path, rules: TextRules) -> tuple[str, str] | None:
        """Return what is wrong with the first line of another file, and what to do; else None.

        `rules` are those of the table.
        """
        if self.delimiter is None or file.name == self.file.name or rules.header == "no":
            return None
        start = _start(file)
        layout = found_layout(start, self.delimiter, rules)
        cells, _ = _cut(start, layout)
        if not cells:  # an empty file
            return None
        if self.is_header:
            is_named = layout.first_line.is_header and not any(map(is_typed, cells))
            if is_named or _names(cells) == _names(self.first):
                return None  # other names are reported as such
            message = f"`{file.name}` has no header, and `{self.file.name}` has one"
            return message, _EACH_OR_NONE
        plain = found_layout(start, self.delimiter, replace(rules, header="no"))
        # A word above a column of numbers; other first lines of words may be rows.
        is_named = plain.first_line.doubt is not None
        if not is_named or any(is_typed(cell) or not cell for cell in cells):
            return None
        message = f"`{file.name}` seems to have a header, and `{self.file.name}` has none"
        return message, _EACH_OR_NONE


def text_form(files: Sequence[Path], rules: TextRules) -> TextForm:
    """Return how the files of a table are laid out. May raise what opening a file raises.

    The header is judged from the beginning of the table, as if it were one file.
    """
    kind, _ = file_type(files[0])
    if kind not in TEXT_TYPES:
        return TextForm(files[0])
    delimiter = TEXT_TYPES[kind]
    starts: list[tuple[Path, bytes]] = []
    for file in files:
        start = _start(file)
        if start.strip():
            starts.append((file, start))
        if sum(len(start) for _, start in starts) >= SNIFFED_BYTES:
            break
    if not starts:
        return TextForm(files[0])
    begin, whole = starts[0]
    base = found_layout(whole, delimiter, rules)
    first, _ = _cut(whole, base)
    others = [_cut(start, found_layout(start, base.delimiter, rules)) for _, start in starts[1:]]
    # If any other file has the same words in its first line, these are names, and no rows.
    again = any(sorted(cells) == sorted(first) for cells, _ in others)
    for (_, start), (_, below) in zip(starts[1:], others, strict=True):
        whole += b"" if whole.endswith(b"\n") else b"\n"
        whole += below if again else start
    judged = found_layout(whole, base.delimiter, rules).first_line
    return TextForm(begin, base.delimiter, judged.is_header, tuple(first), judged.doubt)


def _cut(start: bytes, layout: Layout) -> tuple[list[str], bytes]:
    """Return the cells of the first line of a table, without spaces around them, and the rest."""
    line, _, rest = start.split(b"\n", layout.comments)[-1].partition(b"\n")
    row = next((row for _, row in records(line.decode(errors="replace"), layout.delimiter)), [])
    return [] if isinstance(row, csv.Error) else [cell.strip() for cell in row], rest


def _start(file: Path) -> bytes:
    with file.open("rb") as stream, decompressing(stream, file_type(file)[1]) as inner:
        return text_start(inner)


def _names(cells: Sequence[str]) -> set[str]:
    return {cell or default_name(i) for i, cell in enumerate(cells)}

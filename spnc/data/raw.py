"""A table as it was read, before its columns have types: numbers, and where each row stood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spnc.diagnostics import Diagnostic, Sink, counted

Header = Literal["auto", "yes", "no"]
EACH_CODE_LIMIT = 20


def default_name(column: int) -> str:
    """The name of a column that has none: x0, x1, …"""
    return f"x{column}"


@dataclass(frozen=True, eq=False)
class RawTable:
    """`values[row, column]`, NaN where missing, and what is needed to say where a row stands.

    `file` is the name to show, `names` the header if there was one, `lines` the line of each
    row in a text file (None for arrays), `array` the name of the array in an NPZ file. A table
    that is not `sound` lacks what was reported; it is kept only to look for more problems.
    """

    file: str
    values: NDArray[np.float64]
    names: tuple[str, ...] | None = None
    lines: Sequence[int] | None = None
    array: str | None = None
    sound: bool = True

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def column_names(self) -> tuple[str, ...]:
        """The header, or x0, x1, … where there was none."""
        return self.names or tuple(default_name(i) for i in range(self.width))

    def line_of(self, row: int) -> int | None:
        """The line that the row was read from, where rows are lines."""
        return self.lines[row] if self.lines is not None else None

    def row_text(self, row: int) -> str:
        """Where the row is, to end a message with; empty where the line number says it."""
        if self.lines is not None:
            return ""
        return f" in row {row + 1}" + (f" of array `{self.array}`" if self.array else "")


class FileReport:
    """The problems found inside one file, told in line order when the report is closed.

    Of each code at most `EACH_CODE_LIMIT` are told one by one; one more says how many remain.
    """

    def __init__(self, sink: Sink, file: str) -> None:
        self.sink, self.file = sink, file
        self._kept: list[tuple[int, Diagnostic]] = []
        self._count: dict[str, int] = {}

    @property
    def failed(self) -> bool:
        """Whether anything was reported."""
        return bool(self._count)

    def error(
        self,
        code: str,
        message: str,
        *,
        line: int | None = None,
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        """Report a problem in the file, at a line if one is known."""
        self._count[code] = self._count.get(code, 0) + 1
        if self._count[code] > EACH_CODE_LIMIT:
            return
        where = self.file if line is None else f"{self.file}:{line}"
        found = Diagnostic(code, message, "error", None, tuple(notes), help, where)
        self._kept.append((line or 0, found))

    def error_empty(self) -> None:
        """Report that there is nothing in the file."""
        self.error("E305", "the file is empty", help="is this the file that was meant?")

    def close(self) -> None:
        """Hand everything to the sink."""
        self.sink.diagnostics += [d for _, d in sorted(self._kept, key=lambda kept: kept[0])]
        for code, count in self._count.items():
            if count > EACH_CODE_LIMIT:
                more = counted(count - EACH_CODE_LIMIT, "more problem")
                self.sink.error(code, f"{more} of this kind in this file", where=self.file)

    def __enter__(self) -> FileReport:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

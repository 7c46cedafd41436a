"""Collecting the problems inside one data file."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from spnc.diagnostics import Diagnostic, Sink, counted

EACH_CODE_LIMIT = 20  # messages of one code for one file; more would only scroll by


class FileReport:
    """The problems found inside one file; a context manager that reports them in line order.

    At most `EACH_CODE_LIMIT` problems of each code are reported one by one; one more message
    counts the rest.
    """

    def __init__(self, sink: Sink, file: str) -> None:
        self.sink, self.file = sink, file
        self._kept: list[tuple[str, int, Diagnostic]] = []
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
        file: str | None = None,
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        """Report a problem in the file, at a line if it is known.

        `file` is that of the problem, where a table is in several files.
        """
        self._count[code] = self._count.get(code, 0) + 1
        if self._count[code] > EACH_CODE_LIMIT:
            return
        file = file or self.file
        where = file if line is None else f"{file}:{line}"
        found = Diagnostic(code, message, "error", None, tuple(notes), help, where)
        self._kept.append((file, line or 0, found))

    def error_empty(self) -> None:
        """Report that the file is empty."""
        self.error("E305", "the file is empty", help="check that this is the right file")

    def close(self) -> None:
        """Pass everything on to the sink."""
        self.sink.diagnostics += [d for *_, d in sorted(self._kept, key=lambda kept: kept[:2])]
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

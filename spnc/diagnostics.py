"""Diagnostics: what spnc reports about bad input, where it is, and how the report is rendered.

Every stage reports *all* the problems it finds to one `Sink`. The pipeline then calls `Sink.stop`
or `Sink.require`, which raise `InputError` if any of the problems is an error. A user's mistake
therefore never shows a traceback, and one run shows every mistake.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from spnc.common.text_files import UnreadableFileError, read_text
from spnc.common.views import line
from spnc.common.wording import clipped, visible, width

T = TypeVar("T")
Severity = Literal["error", "warning"]
_REPR_LIMIT = 120  # terminal columns of a message inside a repr


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """A named text that positions refer to: a file, or the command line."""

    name: str
    text: str

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {counted(len(self.text), 'character')})"

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text. Unlike `splitlines`, this does not cut at form feeds."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @cached_property
    def _line_starts(self) -> list[int]:
        """The offset of the first character of each line."""
        starts = [0]
        while (newline := self.text.find("\n", starts[-1])) >= 0:
            starts.append(newline + 1)
        return starts

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """Return the part between two positions, which count from one; the end is exclusive."""
        return Span(self, line, column, end_line, end_column)

    def span_at(self, start: int, stop: int) -> Span:
        """Return the part between two character offsets, which count from zero."""
        starts = self._line_starts
        line, end_line = bisect_right(starts, start), bisect_right(starts, stop)
        column, end_column = start - starts[line - 1] + 1, stop - starts[end_line - 1] + 1
        return Span(self, line, column, end_line, end_column)


@dataclass(frozen=True, slots=True, repr=False)
class Span:
    """A part of a source text; lines and columns count from one, the end is exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"

    def __repr__(self) -> str:
        return f"Span({self} to {self.end_line}:{self.end_column})"


@dataclass(frozen=True, slots=True, repr=False)
class Diagnostic:
    """One problem: a stable code, what is wrong, where it is, further notes, and what to do."""

    code: str
    message: str
    severity: Severity = "error"
    span: Span | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    where: str | None = None  # the place of a problem without a span, such as a data file

    @property
    def place(self) -> str | None:
        """Where the problem is, as people read it: `file:line:column`, or a file."""
        return self.where if self.span is None else str(self.span)

    def __repr__(self) -> str:
        at = f" at {self.place}" if self.place is not None else ""
        return f"Diagnostic({self.severity} {self.code}{at}: {clipped(self.message, _REPR_LIMIT)})"

    def _repr_html_(self) -> str:
        """Return one line of HTML for Jupyter."""
        asides = [part for part in (self.place, self.help) if part is not None]
        return line(f"{self.severity}[{self.code}]", self.message, *asides)

    def as_json(self) -> dict[str, Any]:
        """Return the diagnostic as plain values, for `--json`."""
        place: dict[str, Any] = {}
        if self.span is not None:
            place = {
                "file": self.span.source.name,
                "line": self.span.line,
                "column": self.span.column,
                "end_line": self.span.end_line,
                "end_column": self.span.end_column,
            }
        elif self.where is not None:
            place = {"file": self.where}
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            **place,
            "notes": list(self.notes),
            "help": self.help,
        }

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Diagnostic:
        """Return what `as_json` wrote; a place is named, without the text that stands there."""
        where = plain.get("file")
        if "line" in plain:
            where = f"{where}:{plain['line']}:{plain['column']}"
        severity: Severity = "warning" if plain["severity"] == "warning" else "error"
        notes = tuple(map(str, plain["notes"]))
        code, message = str(plain["code"]), str(plain["message"])
        return Diagnostic(code, message, severity, None, notes, plain["help"], where)


class InputError(Exception):
    """The input is wrong. `diagnostics` holds all that was found; the text renders them."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return InputError, (self.diagnostics,)  # it may come from another process


@dataclass
class Sink:
    """Collects the diagnostics of all stages; `stop` and `require` raise if one is an error."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        notes: Iterable[str] = (),
        help: str | None = None,
        where: str | None = None,
    ) -> None:
        """Report a problem that makes the input unusable."""
        self.diagnostics.append(Diagnostic(code, message, "error", span, tuple(notes), help, where))

    def warning(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        notes: Iterable[str] = (),
        help: str | None = None,
        where: str | None = None,
    ) -> None:
        """Report something that is allowed, but probably not intended."""
        self.diagnostics.append(
            Diagnostic(code, message, "warning", span, tuple(notes), help, where)
        )

    def add(self, found: Diagnostic | None) -> None:
        """Report a problem that was found elsewhere, if there is one."""
        if found is not None:
            self.diagnostics.append(found)

    @property
    def failed(self) -> bool:
        """Whether an error has been reported."""
        return any(d.severity == "error" for d in self.diagnostics)

    @property
    def warnings(self) -> list[Diagnostic]:
        """The warnings reported so far."""
        return [d for d in self.diagnostics if d.severity == "warning"]

    def stop(self) -> None:
        """Raise `InputError` with everything reported, if any of it is an error."""
        if self.failed:
            raise InputError(in_reading_order(self.diagnostics))

    def require(self, value: T | None) -> T:
        """Return the value, which a stage computed, after raising as `stop` does.

        A stage returns None only after reporting an error; anything else is a bug in that stage.
        """
        self.stop()
        if value is None:
            raise AssertionError("a stage returned no value and reported no error")
        return value


def read_source(path: Path, sink: Sink, span: Span | None = None) -> Source | None:
    """Return the text of a file, or None after reporting why it cannot be read (E114).

    `span` is where a spec names the file.
    """
    try:
        return Source(str(path), read_text(path))
    except FileNotFoundError:
        near = nearest_file(path)
        reason = "there is no such file"
        help = f"did you mean `{near}`?" if near is not None else None
    except UnreadableFileError as error:
        reason, help = str(error), error.help
        if (path / "recipe.lock.yaml").is_file():
            lock, model = path / "recipe.lock.yaml", path / "model.spnc"
            help = f"the spec of this run is `{lock}`, its model is `{model}`"
    where = None if span is not None else str(path)
    sink.error("E114", f"cannot read `{path}`: {reason}", span, help=help, where=where)
    return None


@contextmanager
def writing(
    path: str | Path, sink: Sink | None = None, help: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Report a failure to write to `path` as wrong input (E120), not as a bug.

    If `path` is a folder, the file in it is named, where that is known. What is in `sink` is
    reported as well, and `help()` says what to do.
    """
    sink = Sink() if sink is None else sink
    try:
        if "\0" in str(path):
            raise OSError("a name cannot have a NUL character")
        yield
    except BrokenPipeError:  # the reader has gone, which is not a mistake
        raise
    except OSError as error:
        named = str(error.filename)
        where = named if Path(path) in Path(named).parents else str(path)
        reason = error.strerror or str(error)
        with suppress(OSError):
            for parent in Path(where).parents:
                if parent.exists() and not parent.is_dir():
                    reason = f"`{parent}` is not a folder"
        sink.error("E120", f"cannot write `{where}`: {reason}", where=where, help=help())
        sink.stop()


def in_reading_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort by file, line and column; diagnostics without a span come last, as they were found.

    A problem that was found twice, for example in a file that two components name, is kept once.
    """

    def key(item: tuple[int, Diagnostic]) -> tuple[int, str, int, int, int]:
        position, d = item
        if d.span is not None:
            return (0, d.span.source.name, d.span.line, d.span.column, position)
        return (1, "", 0, 0, position)

    once = {(str(d.span), d.where, d.code, d.message, d.notes): d for d in diagnostics}
    return [d for _, d in sorted(enumerate(once.values()), key=key)]


def nearest(word: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the known word that is most similar to `word`, or None if none is close.

    `similarity`, between 0 and 1, is how close is close enough: 0.6 accepts `iris` for `digits`.
    """
    options = {k.lower().replace("_", "-"): k for k in known}
    near = difflib.get_close_matches(
        word.lower().replace("_", "-"), options, n=1, cutoff=similarity
    )
    return options[near[0]] if near else None


def nearest_file(path: Path) -> Path | None:
    """Return the file beside `path` that was most likely meant: one of the same type, if any."""
    if not path.parent.is_dir():
        return None
    files = list(path.parent.iterdir())
    stems = {file.stem: file for file in files if file.suffix == path.suffix}
    near = nearest(path.stem, stems)
    if near is not None:
        return stems[near]
    others = {file.stem: file for file in files if file.suffix != path.suffix}
    return others.get(path.stem)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known word or, if none is close, all known words."""
    names = sorted(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    return f"known here: {listed(names, 20)}" if names else "nothing is known here"


def listed(names: Sequence[object], limit: int = 8) -> str:
    """Join names by commas; of a long list, show `limit` and count the rest."""
    shown = ", ".join(str(n) for n in names[:limit])
    rest = len(names) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 error`, `3 errors`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


_COLOURS = {"error": "\033[1;31m", "warning": "\033[1;33m", "bold": "\033[1m", "dim": "\033[36m"}
_RESET = "\033[0m"


def render(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """Return the diagnostics as text: each with its source line and a caret, then a count."""
    found = list(diagnostics)
    blocks = [_render_one(d, colour) for d in found]
    errors = sum(d.severity == "error" for d in found)
    total = counted(errors, "error")
    if len(found) > errors:
        warnings = counted(len(found) - errors, "warning")
        total = f"{total}, {warnings}" if errors else warnings
    return "\n\n".join([*blocks, total]) if found else ""


def _render_one(d: Diagnostic, colour: bool) -> str:
    def paint(style: str, text: str) -> str:
        return f"{_COLOURS[style]}{text}{_RESET}" if colour else text

    message = paint("bold", visible(d.message))
    lines = [f"{paint(d.severity, f'{d.severity}[{d.code}]')}: {message}"]
    pad = ""
    if d.span is not None:
        number = str(d.span.line)
        pad = " " * len(number)
        lines.append(f" {pad}{paint('dim', '-->')} {visible(str(d.span))}")
        text = d.span.source.lines
        if d.span.line <= len(text) and text[d.span.line - 1].strip():
            shown, start, length = _excerpt(text[d.span.line - 1], d.span)
            bar = paint("dim", "|")
            lines.append(f" {pad} {bar}")
            lines.append(f" {paint('dim', number)} {bar} {shown}")
            lines.append(f" {pad} {bar} {' ' * start}{paint(d.severity, '^' * length)}")
    elif d.where is not None:
        lines.append(f" {paint('dim', '-->')} {visible(d.where)}")
    mark = paint("dim", "=")
    lines += [f" {pad} {mark} {visible(note)}" for note in d.notes]
    if d.help is not None:
        lines.append(f" {pad} {mark} {paint('bold', 'help:')} {visible(d.help)}")
    return "\n".join(lines)


def _excerpt(line: str, span: Span, limit: int = 100) -> tuple[str, int, int]:
    """Return a source line, the start of its caret and its width; a long line is cut around it."""
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    length = max(1, min(end, len(line)) - start)
    # Control characters become one visible character each, so that the caret stays aligned.
    shown = "".join(
        c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line
    )
    if len(shown) > limit:
        left = max(0, min(start - limit // 3, len(shown) - limit))
        right = left + limit
        shown = ("…" if left else "") + shown[left:right] + ("…" if right < len(line) else "")
        start = start - left + (1 if left else 0)
        length = max(1, min(length, len(shown) - start))
    under = shown[start : start + length]
    return shown.rstrip(), width(shown[:start]), max(1, width(under))


def codes() -> list[str]:
    """Return every stable code; `explanation` has a text for each."""
    folder = resources.files("spnc") / "explanations"
    return sorted(f.name.removesuffix(".md") for f in folder.iterdir() if f.name.endswith(".md"))


def explanation(code: str) -> str | None:
    """Return the long text about a code, its title on the first line; None for an unknown code."""
    file = resources.files("spnc") / "explanations" / f"{code.upper()}.md"
    return file.read_text(encoding="utf-8") if file.is_file() else None

"""What spnc says about bad input: spans, diagnostics, the sink that collects them, the text.

Every stage reports *all* the problems it finds into one `Sink`; the pipeline then calls
`Sink.stop`, which raises `InputError` if any of them is an error. A user's mistake therefore
never shows a traceback, and one run shows every mistake.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from spnc.common.text_files import UnreadableFileError, read_text
from spnc.common.wording import visible, width

Severity = Literal["error", "warning"]


@dataclass(frozen=True, eq=False)
class Source:
    """A named text that positions refer to: a file, or the command line."""

    name: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The text, cut at line ends. Only these: `splitlines` would also cut at form feeds."""
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    @cached_property
    def _line_starts(self) -> list[int]:
        """The offset of every line's first character."""
        starts = [0]
        while (newline := self.text.find("\n", starts[-1])) >= 0:
            starts.append(newline + 1)
        return starts

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """The part of this text between two positions, counted from one, the end exclusive."""
        return Span(self, line, column, end_line, end_column)

    def span_at(self, start: int, stop: int) -> Span:
        """The part of this text between two character offsets, counted from zero."""
        starts = self._line_starts
        line, end_line = bisect_right(starts, start), bisect_right(starts, stop)
        column, end_column = start - starts[line - 1] + 1, stop - starts[end_line - 1] + 1
        return Span(self, line, column, end_line, end_column)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source text; lines and columns count from one, the end is exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: a stable code, what is wrong, where, what else is known, what to do."""

    code: str
    message: str
    severity: Severity = "error"
    span: Span | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    where: str | None = None  # a place that is not in a text, such as a data file

    def as_json(self) -> dict[str, Any]:
        """The diagnostic as plain values, for `--json`."""
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


class InputError(Exception):
    """The input is wrong; `diagnostics` says all that was found. Its text is the rendering."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))


@dataclass
class Sink:
    """Collects what the stages find. `stop` ends the run if anything found is an error."""

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
        """Report something that is allowed but probably not meant."""
        self.diagnostics.append(
            Diagnostic(code, message, "warning", span, tuple(notes), help, where)
        )

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


def read_source(path: Path, sink: Sink, span: Span | None = None) -> Source | None:
    """Return the text of a file, or None after reporting why it cannot be read (E114).

    `span` is where a spec names the file.
    """
    try:
        return Source(str(path), read_text(path))
    except FileNotFoundError:
        reason, help = "there is no such file", None
        if path.parent.is_dir():
            near = nearest(path.name, [p.name for p in path.parent.iterdir()])
            help = f"did you mean `{path.parent / near}`?" if near is not None else None
    except UnreadableFileError as error:
        reason, help = str(error), error.help
    where = None if span is not None else str(path)
    sink.error("E114", f"cannot read `{path}`: {reason}", span, help=help, where=where)
    return None


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Report a failure to write to `path` as the user's to mend (E120), not as a bug."""
    try:
        yield
    except OSError as error:
        sink = Sink()
        reason = error.strerror or str(error)
        for parent in Path(path).parents:
            if parent.exists() and not parent.is_dir():
                reason = f"`{parent}` is not a folder"
        sink.error("E120", f"cannot write `{path}`: {reason}", where=str(path))
        sink.stop()


def in_reading_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By file, line and column where there is one; what has no place comes last, as found.

    What was found twice, as when two components name the same broken file, is told once.
    """

    def key(item: tuple[int, Diagnostic]) -> tuple[int, str, int, int, int]:
        position, d = item
        if d.span is not None:
            return (0, d.span.source.name, d.span.line, d.span.column, position)
        return (1, "", 0, 0, position)

    once = {(str(d.span), d.where, d.code, d.message, d.notes): d for d in diagnostics}
    return [d for _, d in sorted(enumerate(once.values()), key=key)]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was most likely meant to be, if one is close."""
    options = {k.lower().replace("_", "-"): k for k in known}
    near = difflib.get_close_matches(word.lower().replace("_", "-"), options, n=1, cutoff=0.6)
    return options[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest known word, or the list of all of them."""
    names = sorted(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    return f"known here: {listed(names, 20)}" if names else "nothing is known here"


def listed(names: Sequence[object], limit: int = 8) -> str:
    """Names in one line; a long list is cut, and says by how much."""
    shown = ", ".join(str(n) for n in names[:limit])
    rest = len(names) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 error`, `3 errors`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


_COLOURS = {"error": "\033[1;31m", "warning": "\033[1;33m", "bold": "\033[1m", "dim": "\033[36m"}
_RESET = "\033[0m"


def render(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """The diagnostics as text, each with its source line and a caret, and a count at the end."""
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
    """The source line, cut to a window around the span when long; caret start and width."""
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    length = max(1, min(end, len(line)) - start)
    # One character for each that a terminal would act on, so that the caret finds its place.
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
    """Every stable code, each of which `explanation` can explain."""
    folder = resources.files("spnc") / "explanations"
    return sorted(f.name.removesuffix(".md") for f in folder.iterdir() if f.name.endswith(".md"))


def explanation(code: str) -> str | None:
    """The long text about a code: its title on the first line; None if there is no such code."""
    file = resources.files("spnc") / "explanations" / f"{code.upper()}.md"
    return file.read_text(encoding="utf-8") if file.is_file() else None

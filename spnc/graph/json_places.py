"""Positions of values in a JSON text, which JSON readers do not keep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from spnc.diagnostics import Source, Span
from spnc.graph.draft import Place

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_Path = tuple[str | int, ...]


class JsonPlaces:
    """Finds the positions of values in a JSON text.

    The text must be valid JSON. It is scanned only when a position is needed.
    """

    def __init__(self, source: Source | None) -> None:
        self.source = source
        self._repeated: list[tuple[str, Span, Span]] = []
        self._found: dict[_Path, Span] | None = None

    def of(self, *path: str | int, long: str | None = None) -> Place:
        """Return the place of the value at a path, or of its entry `long` if it spans lines."""

        def find() -> Span | None:
            found = self._places()
            span = found.get(path)
            if span is not None and long is not None and span.line != span.end_line:
                return found.get((*path, long), span)
            return span

        return find

    def repeated(self) -> list[tuple[str, Span, Span]]:
        """Return keys that a mapping has twice, with both positions."""
        self._places()
        return self._repeated

    def _places(self) -> dict[_Path, Span]:
        if self._found is None:
            self._found = {} if self.source is None else dict(self._look(self.source))
        return self._found

    def _look(self, source: Source) -> Iterator[tuple[_Path, Span]]:
        path: list[str | int] = []  # the key or index at each level
        begun: list[int] = []  # positions of the open brackets
        seen: list[dict[str, Span]] = []
        key: Span | None = None
        for match in _TOKEN.finditer(source.text):
            token, span = match[0], source.span_at(match.start(), match.end())
            if token in "{[":
                begun.append(match.start())
                seen.append({})
                path.append("" if token == "{" else 0)
                key = None
            elif token in "}]":
                path.pop()
                seen.pop()
                yield tuple(path), source.span_at(begun.pop(), match.end())
                key = None
            elif token == ",":
                key = None
                last = path[-1]
                if isinstance(last, int):
                    path[-1] = last + 1
            elif token != ":":
                if path and isinstance(path[-1], str) and key is None:
                    name = path[-1] = str(json.loads(token))
                    key = span
                    if name in seen[-1]:
                        self._repeated.append((name, seen[-1][name], span))
                    seen[-1][name] = span
                else:
                    yield tuple(path), span

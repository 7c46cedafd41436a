"""The syntax tree of a spec, the same for both notations.

Every value and every key knows its span. `Mapping.head` is the name in front of the brackets of
a call, `em(max_iterations = 5)`; in YAML the same name stands under a key inside the mapping.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spnc.diagnostics import Span

_NONE_WORDS = ("none", "null", "~", "")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value: None, bool, int, float or str; `text` is how it was written."""

    value: object
    text: str
    span: Span
    quoted: bool = False  # then it is a text, never a word such as none

    @property
    def says_none(self) -> bool:
        """Whether this is how "no value" is written."""
        return self.value is None or (not self.quoted and self.text.lower() in _NONE_WORDS)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping, and its value."""

    key: str
    key_span: Span
    value: Tree


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys and values in the order written; keys may repeat, which the binder reports."""

    entries: tuple[Entry, ...]
    span: Span
    head: Scalar | None = None

    def get(self, key: str) -> Entry | None:
        """The last entry under a key."""
        return next((e for e in reversed(self.entries) if e.key == key), None)

    def with_entry(self, entry: Entry) -> Mapping:
        """This mapping with one more entry, in place of those under the same key."""
        others = tuple(e for e in self.entries if e.key != entry.key)
        position = next((i for i, e in enumerate(self.entries) if e.key == entry.key), len(others))
        return replace(self, entries=(*others[:position], entry, *others[position:]))


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of values."""

    items: tuple[Tree, ...]
    span: Span


Tree = Scalar | Mapping | Sequence


def describe(tree: Tree) -> str:
    """What a value is, in the words of an error message."""
    if isinstance(tree, Mapping):
        return f"`{tree.head.text}(…)`" if tree.head is not None else "a mapping"
    if isinstance(tree, Sequence):
        return "a list"
    if tree.value is None:
        return "nothing"
    kinds = {bool: "the truth value", int: "the number", float: "the number", str: "the text"}
    return f"{kinds[type(tree.value)]} `{short(tree.text)}`"


def short(text: str, limit: int = 40) -> str:
    """A text cut to a length that fits into a message."""
    return text if len(text) <= limit else f"{text[:limit]}…"

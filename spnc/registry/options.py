"""Options: dataclass fields with a default, a range and one line of text.

The fields of an `Options` class are its schema: the spec readers validate against them,
`spnc schema` prints them, and the spec reference is generated from them.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from spnc.diagnostics import Sink, Span

if TYPE_CHECKING:
    from spnc.registry.registries import Registry


class Conflict(NamedTuple):
    """Options that are valid one by one but exclude each other."""

    field: str  # the option to point at
    message: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of everything that a spec can set. `spans` has the place of every given field."""

    plugin_name: ClassVar[str] = ""
    # Fields that a single value may set when it is written in place of the mapping: `smoothing: 1`
    # for both of its numbers, `data: rows.csv` for its source. Several fields are of one type and
    # one range, so that one message about the value is enough.
    one_value_for: ClassVar[tuple[str, ...]] = ()
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    def span_of(self, name: str) -> Span | None:
        """Where the field was written; if it was not, where its owner was."""
        return self.spans.get(name, self.spans.get(""))

    def base(self, name: str) -> Path:
        """The folder that file names in this field are relative to: the spec's."""
        span = self.span_of(name)
        return Path(span.source.name).parent if span is not None else Path()

    def conflicts(self) -> Iterator[Conflict]:
        """Yield options that exclude each other; called once every field is valid by itself."""
        yield from ()

    def verify(self, dataset: Any, sink: Sink) -> None:
        """Report what does not fit the data, or cannot be read, before anything is learned.

        `dataset` is a `spnc.data.dataset.Dataset`, or None if the data is not available.
        """

    def as_number(self) -> float | None:
        """The number that can be written for the whole, if there is one."""
        values = {getattr(self, name) for name in self.one_value_for}
        number = values.pop() if len(values) == 1 else None
        return number if isinstance(number, int | float) else None

    def as_word(self) -> str | None:
        """The word that can be written for the whole, if it says all that is not a default."""
        return None

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the class's docstring, in one line."""
        return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())


@dataclass(frozen=True, slots=True)
class Rule:
    """What a field accepts beyond its type, and its meaning in one line."""

    doc: str
    min: float | None = None
    max: float | None = None
    above: float | None = None  # exclusive bounds
    below: float | None = None
    registry: Registry[Any] | None = None
    path: bool = False  # a file name, or a list of them, relative to the spec that holds it
    words: str = ""  # a pattern of texts that are no file names
    suffix: str = ""  # of those files, which need not be written
    inline: bool = False  # the chosen plug-in's options stand beside this field, not under it
    keyed: str = ""  # of a list of options: written as a mapping from this field of theirs

    def file_name(self, text: str) -> str:
        """The name of the file that a value stands for, with its suffix."""
        return text if text.endswith(self.suffix) else f"{text}{self.suffix}"

    def is_file(self, text: str) -> bool:
        """Whether a text is the name of a file."""
        return self.path and not (self.words and re.fullmatch(self.words, text))

    def violation(self, value: float) -> str | None:
        """The bound that a number violates, in words ("at least 1"); None if it is in range."""
        if self.min is not None and value < self.min:
            return f"at least {self.min:g}"
        if self.max is not None and value > self.max:
            return f"at most {self.max:g}"
        if self.above is not None and value <= self.above:
            return f"above {self.above:g}"
        if self.below is not None and value >= self.below:
            return f"below {self.below:g}"
        return None


def option(
    default: Any = MISSING,
    doc: str = "",
    *,
    min: float | None = None,
    max: float | None = None,
    above: float | None = None,
    below: float | None = None,
    path: bool = False,
    words: str = "",
    suffix: str = "",
    keyed: str = "",
) -> Any:
    """A field of an `Options` class: default (or required), one line of text, range."""
    rule = Rule(doc, min, max, above, below, path=path, words=words, suffix=suffix, keyed=keyed)
    return field(default=default, metadata={"rule": rule})


def choice(
    registry: Registry[Any], default: str | None = None, doc: str = "", *, inline: bool = False
) -> Any:
    """A field that holds a plug-in of `registry`, by name and with that plug-in's options."""
    rule = Rule(doc, registry=registry, inline=inline)
    if default is None:
        return field(metadata={"rule": rule})
    return field(default_factory=lambda: registry[default](), metadata={"rule": rule})


@dataclass(frozen=True, slots=True)
class Field:
    """One declared option, as the readers, the schema and the docs see it."""

    name: str
    type: Any
    rule: Rule
    required: bool
    default: Any


def fields_of(cls: type[Options]) -> dict[str, Field]:
    """The declared options of a class, in order."""
    key: Any = cls
    return _fields_of(key)


@cache
def _fields_of(cls: Any) -> dict[str, Field]:
    hints = typing.get_type_hints(cls)
    found = {}
    for f in dataclasses.fields(cls):
        if "rule" not in f.metadata:
            continue
        required = f.default is MISSING and f.default_factory is MISSING
        default = None
        if f.default is not MISSING:
            default = f.default
        elif f.default_factory is not MISSING:
            default = f.default_factory()
        found[f.name] = Field(f.name, hints[f.name], f.metadata["rule"], required, default)
    return found


def optional_type(annotation: Any) -> tuple[Any, bool]:
    """`X | None` as (X, True); anything else as (it, False)."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(annotation) if a is not type(None)]
        if len(inner) == 1:
            return inner[0], True
    return annotation, False


def nested_options(options: Options) -> Iterator[Options]:
    """Yield options and all options inside of them, such as the plug-ins of a recipe."""
    yield options
    for name in fields_of(type(options)):
        value = getattr(options, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Options):
                yield from nested_options(inner)

"""Plug-ins and their options, declared once.

A plug-in is one file with one frozen dataclass that inherits `Options` and registers itself:

    @LEARNERS.register("extra-spn")
    @dataclass(frozen=True, kw_only=True)
    class ExtraSpn(Options):
        '''One line that becomes its documentation.'''
        beta: float = option(0.6, "probability that a column split fails", min=0, max=1)

The fields are its schema: the spec readers validate against them, `spnc schema` prints them, the
spec reference is generated from them. A registry imports every module of its package the first
time it is asked, so a new file is found by being there.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from spnc.diagnostics import Sink, Span

T = TypeVar("T")


class Conflict(NamedTuple):
    """Options that are each fine but do not go together."""

    field: str  # the option to point at
    message: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of everything a spec can set. `spans` says where each given field was written."""

    plugin_name: ClassVar[str] = ""
    # Fields that a bare number in place of the whole stands for, each with that value. They are
    # of one type and one range, so that one message about the number is enough.
    one_number_for: ClassVar[tuple[str, ...]] = ()
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    def span_of(self, name: str) -> Span | None:
        """Where the field was written; without that, where the whole thing was."""
        return self.spans.get(name, self.spans.get(""))

    def base(self, name: str) -> Path:
        """The folder that a file name in this field is relative to: that of the spec."""
        span = self.span_of(name)
        return Path(span.source.name).parent if span is not None else Path()

    def conflicts(self) -> Iterator[Conflict]:
        """What does not go together; asked for after every field was found valid."""
        yield from ()

    def verify(self, dataset: Any, sink: Sink) -> None:
        """Report what does not go with the data, or with files, before anything is learned.

        `dataset` is a `spnc.data.dataset.Dataset`, or None where the data cannot be had.
        """

    def as_number(self) -> Any | None:
        """The number that stands for the whole, if there is one."""
        values = {getattr(self, name) for name in self.one_number_for}
        return values.pop() if len(values) == 1 else None

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the class's docstring, in one line."""
        return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())


@dataclass(frozen=True, slots=True)
class Rule:
    """What a field accepts beyond its type, and what it means in one line."""

    doc: str
    min: float | None = None
    max: float | None = None
    above: float | None = None  # exclusive bounds
    below: float | None = None
    registry: Registry[Any] | None = None
    path: bool = False  # a file name, relative to the spec that holds it
    inline: bool = False  # the chosen plug-in's options stand beside this field, not under it

    def violation(self, value: float) -> str | None:
        """What a number must be, if it is not; None if it is in range."""
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
) -> Any:
    """A field of an `Options` class: default (or required), one line of text, range."""
    rule = Rule(doc, min, max, above, below, path=path)
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


class Registry(Generic[T]):
    """The plug-ins of one kind, found in one package.

    `kind` names the kind in messages; `key` is the YAML key that holds a plug-in's name.
    """

    def __init__(self, kind: str, package: str, key: str) -> None:
        self.kind, self.package, self.key = kind, package, key
        self._classes: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator: make the class known under `name`."""

        def add(cls: type[T]) -> type[T]:
            if name in self._classes:
                raise ValueError(f"two {self.kind}s are named {name!r}")
            cls.plugin_name = name  # type: ignore[attr-defined]
            self._classes[name] = cls
            return cls

        return add

    def _load(self) -> dict[str, type[T]]:
        if not self._loaded:
            self._loaded = True
            package = importlib.import_module(self.package)
            for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
                importlib.import_module(f"{self.package}.{module}")
        return self._classes

    def find(self, name: str) -> type[T] | None:
        """The plug-in called `name`; hyphens and underscores are the same."""
        return self._load().get(name.replace("_", "-"))

    def __getitem__(self, name: str) -> Any:
        found = self.find(name)
        if found is None:
            raise KeyError(f"no {self.kind} is named {name!r}")
        return found

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._load()))

    def __len__(self) -> int:
        return len(self._load())


LEARNERS: Registry[Any] = Registry("learner", "spnc.learners", "learner")
RESIDUALS: Registry[Any] = Registry("residual strategy", "spnc.residuals", "strategy")
OPTIMIZERS: Registry[Any] = Registry("optimizer", "spnc.training.optimizers", "method")
STOPS: Registry[Any] = Registry("stopping rule", "spnc.training.stops", "rule")
BACKENDS: Registry[Any] = Registry("backend", "spnc.backends", "name")
LEAVES: Registry[Any] = Registry("leaf distribution", "spnc.leaves", "distribution")
FAMILIES: Registry[Any] = Registry("family", "spnc.search.auto.families", "family")

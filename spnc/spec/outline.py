"""What of a recipe is to be written out, before it is decided in which spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spnc.registry import Options, fields_of


@dataclass(frozen=True)
class Item:
    """An option to be written: its key, its value, and the line it stood on."""

    key: str
    value: Any  # a plain value, a list of them, a `Group`, or a list of `Group`s
    line: int


@dataclass(frozen=True)
class Group:
    """Options that belong together; `name` is the plug-in's, under `name_key` in YAML."""

    items: tuple[Item, ...]
    name: str | None = None
    name_key: str = ""
    line: int = 0


def outline(options: Options, full: bool, name_key: str = "") -> Group:
    """What was given or, if `full`, everything with its default, in the order it was written."""
    items: list[Item] = []
    name = options.plugin_name or None
    for f in fields_of(type(options)).values():
        value = getattr(options, f.name)
        given = f.name in options.spans or (not options.spans and value != f.default)
        if not (full or given or f.required) or (full and value is None and f.default is None):
            continue
        span = options.spans.get(f.name)
        if isinstance(value, Options) and f.rule.inline:
            inner = outline(value, full)
            items += inner.items
            name = inner.name
            name_key = f.rule.registry.key if f.rule.registry else ""
            continue
        items.append(Item(f.name, _plain(value, f.rule.registry, full), span.line if span else 0))
    if not full and all(i.line for i in items):
        items.sort(key=lambda i: i.line)  # as written, so that comments stay with what they are on
    here = options.spans.get("")
    return Group(tuple(items), name, name_key, here.line if here else 0)


def _plain(value: Any, registry: Any, full: bool) -> Any:
    if isinstance(value, Options) and value.as_number() is not None:
        return value.as_number()
    if isinstance(value, Options):
        return outline(value, full, registry.key if registry is not None else "")
    if isinstance(value, tuple):
        return [_plain(v, None, full) for v in value]
    return value

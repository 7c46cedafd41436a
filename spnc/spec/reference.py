"""The spec reference in Markdown, made from the declared options."""

from __future__ import annotations

import typing
from typing import Any

from spnc.leaves.smoothing import Smoothing
from spnc.registry import (
    BACKENDS,
    LEARNERS,
    OPTIMIZERS,
    RESIDUALS,
    STOPS,
    Field,
    Options,
    Registry,
    fields_of,
    optional_type,
)
from spnc.spec.recipe import Component, Lock, Recipe
from spnc.spec.space import Search
from spnc.training.prune import Prune

_HEAD = """# Spec reference

Every option that a spec can set. This page is written by `spnc schema --markdown` from the
declarations in the code; `spnc schema` prints the same as JSON Schema, for completion in editors.

A *choice* is something with a name and options of its own. In YAML it is a mapping with its key
(`optimizer: {method: em, patience: 5}`), or the bare name when no option is set (`optimizer: em`);
in the language it is `em(patience = 5)`, or `em`. Where a value may be absent, write `none`.

In place of any value in an entry of `forest`, in `residual` and `optimizer`, and of `smoothing`,
`prune` and `seed`, a list to choose from may stand: `smoothing: {search: [0.03, 0.1]}`, in the
language `smoothing search [0.03, 0.1]`. `spnc train` trains every combination and keeps the best
on the validation rows.
"""


def reference() -> str:
    """The whole page."""
    from spnc.data.options import DataOptions

    parts = [_HEAD, _section("The spec", Recipe), _section("`data`", DataOptions)]
    parts.append(_section("An entry of `forest`", Component))
    parts.append(_section("`smoothing`", Smoothing))
    parts.append(_section("`prune`", Prune))
    registries: list[Registry[Any]] = [LEARNERS, RESIDUALS, OPTIMIZERS, STOPS, BACKENDS]
    for registry in registries:
        parts.append(f"## Every {registry.kind}\n\nChosen under the key `{registry.key}`.\n")
        for name, plugin in registry.builtin.items():
            parts.append(_section(f"`{name}`", plugin, level=3))
    parts.append(_section("`search`", Search))
    parts.append(_section("`lock`", Lock))
    return "\n".join(parts).rstrip("\n")


def _section(title: str, cls: type[Options], level: int = 2) -> str:
    lines = [f"{'#' * level} {title}", "", cls.summary(), ""]
    fields = fields_of(cls).values()
    if fields:
        lines += ["| option | type | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [f"| `{f.name}` | {_type(f)} | {_default(f)} | {f.rule.doc} |" for f in fields]
        lines.append("")
    return "\n".join(lines)


def _type(field: Field) -> str:
    inner, optional = optional_type(field.type)
    if field.rule.registry is not None:
        kind = field.rule.registry.kind
        text = f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
    else:
        text = _type_name(inner) + _bounds(field)
    return f"{text}, or none" if optional else text


def _type_name(kind: Any) -> str:
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if kind in names:
        return names[kind]
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return " or ".join(f"`{v}`" for v in typing.get_args(kind))
    if origin is tuple:
        kinds = typing.get_args(kind)
        inner = _type_name(kinds[0])
        many = inner if inner.endswith("s") else f"{inner}s"
        return f"list of {many}" if kinds[-1] is Ellipsis else f"{len(kinds)} {many}"
    if isinstance(kind, type) and issubclass(kind, Options) and kind.one_value_for:
        single, _ = optional_type(fields_of(kind)[kind.one_value_for[0]].type)
        return f"{_type_name(single)} or mapping"
    return "mapping"


def _bounds(field: Field) -> str:
    rule = field.rule
    words = [
        f"{word} {bound:g}"
        for word, bound in (
            ("at least", rule.min),
            ("above", rule.above),
            ("at most", rule.max),
            ("below", rule.below),
        )
        if bound is not None
    ]
    return f", {', '.join(words)}" if words else ""


def _default(field: Field) -> str:
    if field.required:
        return "required"
    value = field.default
    if value is None:
        return "none"
    if isinstance(value, Options) and value.as_number() is not None:
        value = value.as_number()
    if isinstance(value, Options):
        return f"`{value.plugin_name}`"
    if isinstance(value, tuple):
        return " ".join(f'`"{v}"`' for v in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"

"""The options of a recipe that are to be written out, whatever the notation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from spnc.common.quantities import Bytes, Seconds, size_text, time_text
from spnc.registry import Field, Options, fields_of, optional_type
from spnc.spec.recipe import Recipe


@dataclass(frozen=True)
class Item:
    """An option to be written: its key, its value, and its line in the original (0: none)."""

    key: str
    value: Any  # a plain value, a list of them, a `Group`, a list of `Group`s, or `Values`
    line: int


@dataclass(frozen=True)
class Values:
    """The values under a `search`: plain values or `Group`s."""

    values: tuple[Any, ...]
    line: int = 0


@dataclass(frozen=True)
class Group:
    """Options that belong together; `name` is the plug-in's, under `name_key` in YAML."""

    items: tuple[Item, ...]
    name: str | Values | None = None
    name_key: str = ""
    line: int = 0


def recipe_outline(recipe: Recipe, full: bool) -> Group:
    """The outline of a whole recipe, with all its choices."""
    group = outline(recipe, full)
    for choice in recipe.space.choices if recipe.space is not None else ():
        versions = [outline(variation, full) for variation in choice.variations]
        values = tuple(value_at(version, choice.path) for version in versions)
        *above, last = choice.path
        owners = [value_at(version, tuple(above)) for version in versions]
        group = _chosen(group, above, last, values, owners)
    return group


def value_at(value: Any, path: tuple[str, ...]) -> Any:
    """The value at a path of an outline, or None. A plug-in's name is given as a `Group`."""
    for step in path:
        if isinstance(value, list):
            value = value[int(step)]
        elif isinstance(value, Group) and value.name is not None and step == value.name_key:
            value = Group((), value.name, value.name_key)
        else:
            found = {i.key: i.value for i in value.items} if isinstance(value, Group) else {}
            value = found.get(step)
    return value


def place_of(options: Options, path: tuple[str, ...]) -> tuple[int, ...]:
    """A sort key for paths: the order in which options are declared, a plug-in's name first."""
    found: Any = options
    place: list[int] = []
    for step in path:
        if isinstance(found, tuple):
            place.append(int(step))
            found = found[int(step)]
            continue
        names = list(fields_of(type(found))) if isinstance(found, Options) else []
        if step not in names and (inline := _inline(found)) is not None:
            place.append(len(names))
            found, names = inline, list(fields_of(type(inline)))
        place.append(names.index(step) if step in names else -1)
        found = getattr(found, step, None)
    return tuple(place)


def _inline(options: Any) -> Options | None:
    """The plug-in whose options stand among these, if there is one."""
    fields = fields_of(type(options)).values() if isinstance(options, Options) else ()
    name = next((f.name for f in fields if f.rule.inline), None)
    found: Options | None = getattr(options, name) if name is not None else None
    return found


def options_at(options: Options, path: tuple[str, ...]) -> Options:
    """The options that stand at a path."""
    found: Any = options
    for step in path:
        if isinstance(found, tuple):
            found = found[int(step)]
            continue
        if step not in fields_of(type(found)):
            found = _inline(found)
        found = getattr(found, step)
    assert isinstance(found, Options)
    return found


def _chosen(
    value: Any, above: list[str], last: str, values: tuple[Any, ...], owners: list[Any]
) -> Any:
    """The outline with the values of a choice, `last`, in what stands at the path `above`.

    `owners` is what stands there with each of the values. An option whose value differs between
    them is a default that depends on the choice, and is left out.
    """
    if above:
        step, rest = above[0], above[1:]
        if isinstance(value, list):
            changed = _chosen(value[int(step)], rest, last, values, owners)
            return [changed if i == int(step) else v for i, v in enumerate(value)]
        items = tuple(
            replace(i, value=_chosen(i.value, rest, last, values, owners)) if i.key == step else i
            for i in value.items
        )
        return replace(value, items=items)
    if isinstance(value, list):  # an entry of the forest as a whole
        made = Values(values, value[int(last)].line)
        return [made if i == int(last) else v for i, v in enumerate(value)]
    agreed = [{i.key: i.value for i in owner.items} for owner in owners]
    kept = []
    for item in value.items:
        if item.key == last:
            kept.append(replace(item, value=Values(values, item.line)))
        elif (
            isinstance(item.value, Values)
            or item.key not in agreed[0]  # `search` itself, which is no part of a try
            or all(item.key in a and a[item.key] == agreed[0][item.key] for a in agreed)
        ):
            kept.append(item)
    if last == value.name_key and value.name is not None:
        return replace(value, items=tuple(kept), name=Values(values))
    if last not in {i.key for i in kept}:  # it was left out, since its first value is none
        kept.append(Item(last, Values(values), 0))
    return replace(value, items=tuple(kept))


def outline(options: Options, full: bool, name_key: str = "") -> Group:
    """What was given or, if `full`, everything with its default, in the order it was written."""
    items: list[Item] = []
    name: str | Values | None = options.plugin_name or None
    for f in fields_of(type(options)).values():
        value = getattr(options, f.name)
        given = f.name in options.spans or (not options.spans and value != f.default)
        if not (full or given or f.required) or (full and value is None and f.default is None):
            continue
        if f.rule.keyed and not value:
            continue
        span = options.spans.get(f.name)
        if isinstance(value, Options) and f.rule.inline:
            inner = outline(value, full)
            items += inner.items
            name = inner.name
            name_key = f.rule.registry.key if f.rule.registry else ""
            continue
        plain = _amount_text(f, value) or _plain(value, f.rule.registry, full)
        if f.rule.keyed:
            plain = Group(tuple(_keyed(each, f.rule.keyed) for each in value))
        items.append(Item(f.name, plain, span.line if span else 0))
    if not full and all(i.line for i in items):
        items.sort(key=lambda i: i.line)  # as written, so that comments stay with what they are on
    here = options.spans.get("")
    return Group(tuple(items), name, name_key, here.line if here else 0)


def _amount_text(field: Field, value: Any) -> str | None:
    """A time or an amount of memory with its unit; None for other values."""
    kind, _ = optional_type(field.type)
    if value is None or kind not in (Seconds, Bytes):
        return None
    return time_text(value) if kind is Seconds else size_text(value)


def _keyed(options: Options, key: str) -> Item:
    """An entry under the value of one of its options; a single value where that says it all."""
    group = outline(replace(options, spans={}), full=False)
    items = tuple(item for item in group.items if item.key != key)
    (single,) = options.one_value_for
    plain = all(item.key == single for item in items)
    value = getattr(options, single) if plain else replace(group, items=items)
    return Item(getattr(options, key), value, 0)


def _plain(value: Any, registry: Any, full: bool) -> Any:
    if isinstance(value, Options) and value.as_number() is not None:
        return value.as_number()
    if isinstance(value, Options) and not full and value.as_word() is not None:
        return value.as_word()
    if isinstance(value, Options):
        return outline(value, full, registry.key if registry is not None else "")
    if isinstance(value, tuple):
        return [_plain(v, None, full) for v in value]
    return value

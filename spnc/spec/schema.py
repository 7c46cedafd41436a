"""The JSON Schema of specs in YAML, made from the declared options."""

from __future__ import annotations

import typing
from typing import Any

from spnc.common.quantities import Bytes, Seconds
from spnc.data.columns import Label
from spnc.registry import Field, Options, Registry, fields_of, optional_type
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import FIXED, KEY

_SIMPLE = {int: "integer", float: "number", str: "string", bool: "boolean"}


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a whole spec."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "spnc spec",
        **_object(Recipe, search=True),
    }


def _object(cls: type[Options], search: bool) -> dict[str, Any]:
    """The schema of a mapping of options; `search` says whether their values may be a choice."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in fields_of(cls).values():
        if field.rule.inline:
            assert field.rule.registry is not None
            return _inline(cls, field, field.rule.registry, search)
        fixed = cls is Recipe and field.name in FIXED
        properties[field.name] = _field(field, search and not fixed)
        if field.required:
            required.append(field.name)
    return _mapping(properties, required, cls.summary())


def _mapping(properties: dict[str, Any], required: list[str], doc: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": doc,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _choice_among(values: dict[str, Any]) -> dict[str, Any]:
    """A list of values to try."""
    doc = "values to try; the best on the validation rows is kept"
    listed = {"type": "array", "description": doc, "items": values, "minItems": 1}
    return _mapping({KEY: listed}, [KEY], doc)


def _any_of(*kinds: dict[str, Any]) -> dict[str, Any]:
    """Alternatives, nested ones flattened."""
    flat: list[dict[str, Any]] = []
    for kind in kinds:
        flat += kind["anyOf"] if kind.keys() == {"anyOf"} else [kind]
    return {"anyOf": flat}


def _chosen_name(registry: Registry[Any]) -> dict[str, Any]:
    """A plug-in whose name is searched for; which options it has depends on the name."""
    name = {**_choice_among({"enum": list(registry)}), "description": f"the {registry.kind}"}
    properties = {registry.key: name}
    found = _mapping(properties, [registry.key], f"a choice of {registry.kind}")
    del found["additionalProperties"]
    return found


def _inline(
    cls: type[Options], chosen: Field, registry: Registry[Any], search: bool
) -> dict[str, Any]:
    """One alternative per plug-in, whose options stand beside those of `cls`."""
    own = {n: _field(f, search) for n, f in fields_of(cls).items() if f is not chosen}
    kinds = [{"enum": list(registry)}]
    for name, plugin in registry.usable()[0].items():
        options = {n: _field(f, search) for n, f in fields_of(plugin).items()}
        head = {registry.key: {"const": name, "description": plugin.summary()}}
        needed = [n for n, f in fields_of(plugin).items() if f.required]
        kinds.append(
            _mapping({**head, **own, **options}, [registry.key, *needed], plugin.summary())
        )
    if search:
        kinds.append(_chosen_name(registry))
    return {"description": cls.summary(), "oneOf": kinds}


def _field(field: Field, search: bool) -> dict[str, Any]:
    found = _plain_field(field, search)
    whole_list = typing.get_origin(field.type) is tuple  # its entries can be searched for
    if search and not whole_list:
        found = _any_of(found, _choice_among(_plain_field(field, search=False)))
    return {"description": field.rule.doc, **found}


def _plain_field(field: Field, search: bool) -> dict[str, Any]:
    inner, optional = optional_type(field.type)
    if field.rule.registry is not None:
        found = _choice(field, field.rule.registry, search)
    elif field.rule.keyed:
        found = _keyed(typing.get_args(inner)[0], field.rule.keyed)
    else:
        found = _value(inner, field, search)
    return _any_of(found, {"enum": [None, "none"]}) if optional else found


def _choice(field: Field, registry: Registry[Any], search: bool) -> dict[str, Any]:
    """A plug-in's bare name, or a mapping with its name and options."""
    kinds: list[dict[str, Any]] = [{"enum": list(registry)}]
    for name, plugin in registry.usable()[0].items():
        default = field.default is not None and isinstance(field.default, plugin)
        properties = {n: _field(f, search) for n, f in fields_of(plugin).items()}
        properties[registry.key] = {"const": name, "description": plugin.summary()}
        required = [n for n, f in fields_of(plugin).items() if f.required]
        needed = required if default else [registry.key, *required]
        kinds.append(_mapping(properties, needed, plugin.summary()))
    if search:
        kinds.append(_chosen_name(registry))
    return {"anyOf": kinds}


def _keyed(cls: type[Options], key: str) -> dict[str, Any]:
    """A mapping from any name to options, or to the single value that may stand for them."""
    single = fields_of(cls)[cls.one_value_for[0]]
    options = {n: _field(f, search=False) for n, f in fields_of(cls).items() if n != key}
    entry = _any_of(_value(single.type, single, False), _mapping(options, [], cls.summary()))
    return {"type": "object", "additionalProperties": entry}


def _single(kind: Any) -> dict[str, Any] | None:
    """The text that may be written for a list of one, if its entries can be texts."""
    if kind is str:
        return {"type": "string"}
    if isinstance(kind, type) and issubclass(kind, Options):
        inline = next((f.rule.registry for f in fields_of(kind).values() if f.rule.inline), None)
        return {"enum": list(inline)} if inline is not None else None
    return None


def _value(kind: Any, field: Field, search: bool) -> dict[str, Any]:
    origin = typing.get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, Options):
        if not kind.one_value_for:
            return _object(kind, search)
        single = fields_of(kind)[kind.one_value_for[0]]
        inner, _ = optional_type(single.type)
        return {"anyOf": [_value(inner, single, search), _object(kind, search)]}
    if origin is typing.Literal:
        words = typing.get_args(kind)
        # Many readers of YAML take a bare `yes` or `no` for a truth value.
        truths = [truth for word, truth in (("yes", True), ("no", False)) if word in words]
        return {"enum": [*words, *truths]}
    if origin is tuple:
        kinds = typing.get_args(kind)
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            least = {"minItems": 1} if field.required else {}
            items = _value(kinds[0], field, search)
            if search:
                items = _any_of(items, _choice_among(_value(kinds[0], field, search=False)))
            listed = {"type": "array", "items": items, **least}
            name = _single(kinds[0])
            return listed if name is None else _any_of(name, listed)
        return {
            "type": "array",
            "items": _value(kinds[0], field, search),
            "minItems": len(kinds),
            "maxItems": len(kinds),
        }
    if kind == Label:
        return {"type": ["string", "number", "boolean"]}
    if kind in (Seconds, Bytes):  # with a unit, or a bare number
        return {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}
    found: dict[str, Any] = {"type": _SIMPLE[kind]}
    rule = field.rule
    bounds = {
        "minimum": rule.min,
        "maximum": rule.max,
        "exclusiveMinimum": rule.above,
        "exclusiveMaximum": rule.below,
    }
    if kind in (int, float):
        found |= {name: bound for name, bound in bounds.items() if bound is not None}
    return found

"""Recipes written out in YAML, with the comments of the original."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import yaml

from spnc.spec.comments import Comments, comments_of
from spnc.spec.numbers import is_short_whole, short_exponent
from spnc.spec.outline import Group, Item, Values, recipe_outline
from spnc.spec.recipe import Recipe


def write_yaml(recipe: Recipe, *, full: bool = False) -> str:
    """The recipe in YAML: what was given or, if `full`, everything with its default."""
    return _Yaml(comments_of(recipe)).text(recipe_outline(recipe, full))


class _Yaml:
    def __init__(self, comments: Comments) -> None:
        self.comments = comments
        self.lines: list[str] = []

    def text(self, group: Group) -> str:
        self.mapping(group, "", "")
        self.lines += self.comments.rest()
        return "\n".join([*self.lines, ""])

    def add(self, text: str, line: int, indent: str) -> None:
        if line:
            self.lines += [f"{indent}{c}" for c in self.comments.before(line)]
        beside = self.comments.beside(line)
        self.lines.append(f"{text}  {beside}" if beside else text)

    def mapping(self, group: Group, first: str, indent: str) -> None:
        """The lines of a mapping; `first` stands before its first key, `indent` before others."""
        lead = first
        entries = list(group.items)
        if group.name is not None:
            entries.insert(0, Item(group.name_key, group.name, group.line))
        for item in entries:
            margin = lead[: len(lead) - len(lead.lstrip())]  # a list's dash stands here
            value = item.value
            bare = item.value is group.name  # a plug-in's own name, which may be `none`
            if isinstance(value, Group) and not value.items and value.name is not None:
                value, bare = value.name, True
            if isinstance(value, Group) and indent == "":
                self.add(f"{lead}{item.key}:", item.line, margin)
                self.mapping(value, "  ", "  ")
            elif isinstance(value, list) and value and isinstance(value[0], Group | Values):
                self.add(f"{lead}{item.key}:", item.line, margin)
                for each in value:
                    if isinstance(each, Values):
                        self.add(
                            f"{indent}  - {_values(each, bare=False)}", each.line, f"{indent}  "
                        )
                    else:
                        self.mapping(each, f"{indent}  - ", f"{indent}    ")
            else:
                text = value if bare and isinstance(value, str) else _yaml_value(value)
                self.add(f"{lead}{_yaml_value(item.key)}: {text}", item.line, margin)
            lead = indent


def _yaml_value(value: Any) -> str:
    if isinstance(value, Group):
        named = [(value.name_key, value.name)] if value.name is not None else []
        pairs = [*named, *((i.key, i.value) for i in value.items)]
        return "{" + ", ".join(f"{_yaml_value(k)}: {_yaml_value(v)}" for k, v in pairs) + "}"
    if isinstance(value, Values):
        return f"{{{_values(value)}}}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml_value(v) for v in value) + "]"
    if value is None:
        return "none"
    if isinstance(value, str) and _reads_as_text(value):
        return value
    if isinstance(value, float) and is_short_whole(value):
        return repr(int(value))
    if isinstance(value, str) and value.lower() in ("none", "null"):
        return f'"{value}"'
    # In a list, so that what would end an item is quoted.
    text: str = yaml.safe_dump([value], default_flow_style=True, width=10**9, allow_unicode=True)
    text = text.strip()[1:-1]
    return short_exponent(text) if isinstance(value, float) else text


def _values(found: Values, *, bare: bool = True) -> str:
    """A choice, without the braces around it; a name without options may be written bare."""

    def one(value: Any) -> str:
        if bare and isinstance(value, Group) and not value.items:
            return str(value.name)
        return _yaml_value(value)

    return f"search: [{', '.join(one(v) for v in found.values)}]"


@lru_cache(maxsize=4096)  # the same keys and names in every recipe; reading one takes 0.1 ms
def _reads_as_text(value: str) -> bool:
    """Whether a plain word in YAML means just this word, in a list too."""
    if value.lower() in ("none", "null"):
        return False
    return re.fullmatch(r"[A-Za-z_./][\w./:-]*", value) is not None and (
        yaml.safe_load(f"[{value}]") == [value] or value in ("yes", "no")
    )

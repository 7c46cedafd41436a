"""Recipes written out in the small language, with the comments of the original."""

from __future__ import annotations

import re
from typing import Any

from spnc.language.grammar import NAME, quoted_on_one_line
from spnc.spec.comments import Comments, comments_of
from spnc.spec.numbers import is_short_whole, short_exponent
from spnc.spec.outline import Group, Item, Values, recipe_outline
from spnc.spec.recipe import Recipe

_WIDTH = 96


def write_dsl(recipe: Recipe, *, full: bool = False) -> str:
    """The recipe in the language: what was given or, if `full`, everything with its default."""
    return _Dsl(comments_of(recipe)).text(recipe_outline(recipe, full))


class _Dsl:
    def __init__(self, comments: Comments) -> None:
        self.comments = comments
        self.lines: list[str] = []

    def text(self, group: Group) -> str:
        for item in group.items:
            if item.value is not None:  # YAML has `search: none`; here that is no statement at all
                self.statement(item)
        rest = self.comments.rest()
        return "\n".join([*self.lines, *rest, ""])

    def add(self, text: str, line: int, last: int, indent: str = "") -> None:
        """A statement that stood on the lines `line` … `last`, and the comments around it."""
        if line:
            self.lines += [f"{indent}{c}" for c in self.comments.before(last + 1)]
        inside = [self.comments.beside(n) for n in range(line, last + 1)] if line else []
        found = [c for c in inside if c]
        if len(found) == 1 and "\n" not in text:
            text = f"{text}  {found[0]}"
        else:
            self.lines += [f"{indent}{c}" for c in found]
        self.lines.append(text)

    def statement(self, item: Item) -> None:
        word = {"spnc": "spnc", "optimizer": "optimize"}.get(item.key, item.key)
        last = _last_line(item)
        if item.key == "forest":
            self.add("forest {", item.line, item.line)
            for each in item.value:
                self.entry(each)
            self.lines.append("}")
        elif item.key == "data":
            self.add(f"data {self.data(item.value)}", item.line, last)
        elif isinstance(item.value, Group):
            self.add(_call(word + " ", item.value, ""), item.line, last)
        elif isinstance(item.value, str):
            self.add(f"{word} {_dsl_text(item.value, NAME.pattern)}", item.line, last)
        else:
            self.add(f"{word} {dsl_value(item.value)}", item.line, last)

    def entry(self, group: Group | Values) -> None:
        if isinstance(group, Values):
            self.add(f"  {dsl_value(group)}", group.line, group.line, "  ")
            return
        count = next((i for i in group.items if i.key == "count"), None)
        if count is not None and isinstance(count.value, Values):
            count = None  # it stands in the brackets
        rest = tuple(i for i in group.items if i is not count)
        lead = f"  {count.value} x " if count is not None else "  "
        last = max([group.line, *(_last_line(i) for i in group.items)])
        text = _call(lead, Group(rest, group.name, group.name_key, group.line), "  ")
        self.add(text, group.line, last, "  ")

    def data(self, group: Group) -> str:
        items = {i.key: i for i in group.items}
        words = []
        source = items.pop("source", None)
        if source is not None and source.value is not None:
            words.append(_dsl_text(source.value, _SOURCE))
        split = items.get("split")
        if split is not None and split.value is not None:
            del items["split"]
            words.append("split " + " / ".join(dsl_value(v) for v in split.value))
        if items:
            words.append(_call("", Group(tuple(items.values()), ""), ""))
        return " ".join(words)


def _last_line(item: Item) -> int:
    if isinstance(item.value, Group):
        return max([item.line, *(_last_line(i) for i in item.value.items)])
    return item.line


def _call(lead: str, group: Group, indent: str) -> str:
    name = dsl_value(group.name) if isinstance(group.name, Values) else group.name or ""
    if not group.items:
        return f"{lead}{name}"
    keys = [_dsl_text(i.key, NAME.pattern) for i in group.items]
    values = [dsl_value(i.value, f"{indent}  ") for i in group.items]
    arguments = [f"{key} = {value}" for key, value in zip(keys, values, strict=True)]
    line = f"{lead}{name}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"{lead}{name}(\n" + "".join(f"{indent}  {a},\n" for a in arguments) + f"{indent})"


def dsl_value(value: Any, indent: str = "") -> str:
    """A value of an outline in the language; `indent` is that of the line it begins on."""
    if isinstance(value, Group):
        return _call("", value, indent)
    if isinstance(value, Values):
        return f"search [{', '.join(dsl_value(v) for v in value.values)}]"
    if isinstance(value, list):
        return "[" + ", ".join(dsl_value(v) for v in value) + "]"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and is_short_whole(value):
        return repr(int(value))
    if isinstance(value, int | float):
        return short_exponent(repr(value))
    return _dsl_text(value, f"{NAME.pattern}|{_SOURCE}|{_AMOUNT}")


_WORDS = ("none", "null", "true", "false")  # which mean something without quotes
_SOURCE = r"[a-z]+:[\w.-]+"  # as in the grammar
_AMOUNT = r"([0-9]+(\.[0-9]+)?(h|min|m|s|[KMGT]i?B))+"  # also as there


def _dsl_text(value: str, bare: str) -> str:
    """A text, in quotes unless it is one of the words that may stand without."""
    if re.fullmatch(bare, value) and value.lower() not in _WORDS:
        return value
    return quoted_on_one_line(value)

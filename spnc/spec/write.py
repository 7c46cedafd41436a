"""Recipes written out, in YAML or in the small language, with the comments of the original."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from spnc.diagnostics import Source, Span
from spnc.registry import Options, fields_of
from spnc.spec.recipe import Recipe

_WIDTH = 96


@dataclass(frozen=True)
class _Item:
    """An option to be written: its key, its value, and the line it stood on."""

    key: str
    value: Any  # a plain value, a list of them, a `_Group`, or a list of `_Group`s
    line: int


@dataclass(frozen=True)
class _Group:
    """Options that belong together; `name` is the plug-in's, under `name_key` in YAML."""

    items: tuple[_Item, ...]
    name: str | None = None
    name_key: str = ""
    line: int = 0


@dataclass
class _Comments:
    """The comments of a text, handed out in order to the lines that follow them."""

    own_line: list[tuple[int, str]] = field(default_factory=list)
    trailing: dict[int, str] = field(default_factory=dict)

    def before(self, line: int) -> list[str]:
        """Comments on lines of their own that stand above a line, each given once."""
        found = [text for at, text in self.own_line if at < line]
        self.own_line = [(at, text) for at, text in self.own_line if at >= line]
        return found

    def beside(self, line: int) -> str | None:
        """The comment at the end of a line, given once."""
        return self.trailing.pop(line, None)

    def rest(self) -> list[str]:
        """What is left at the end."""
        return [text for _, text in sorted([*self.own_line, *self.trailing.items()])]


def write_yaml(recipe: Recipe, *, full: bool = False) -> str:
    """The recipe in YAML: what was given or, if `full`, everything with its default."""
    return _Yaml(_comments(recipe)).text(_outline(recipe, full))


def write_dsl(recipe: Recipe, *, full: bool = False) -> str:
    """The recipe in the small language."""
    return _Dsl(_comments(recipe)).text(_outline(recipe, full))


# ---- what is to be written -------------------------------------------------------------------


def _outline(options: Options, full: bool, name_key: str = "") -> _Group:
    items: list[_Item] = []
    name = options.plugin_name or None
    for f in fields_of(type(options)).values():
        value = getattr(options, f.name)
        given = f.name in options.spans or (not options.spans and value != f.default)
        if not (full or given or f.required) or (full and value is None and f.default is None):
            continue
        span = options.spans.get(f.name)
        if isinstance(value, Options) and f.rule.inline:
            inner = _outline(value, full)
            items += inner.items
            name = inner.name
            name_key = f.rule.registry.key if f.rule.registry else ""
            continue
        items.append(_Item(f.name, _plain(value, f.rule.registry, full), span.line if span else 0))
    if not full and all(i.line for i in items):
        items.sort(key=lambda i: i.line)  # as written, so that comments stay with what they are on
    here = options.spans.get("")
    return _Group(tuple(items), name, name_key, here.line if here else 0)


def _plain(value: Any, registry: Any, full: bool) -> Any:
    if isinstance(value, Options):
        return _outline(value, full, registry.key if registry is not None else "")
    if isinstance(value, tuple):
        return [_plain(v, None, full) for v in value]
    return value


def _comments(recipe: Recipe) -> _Comments:
    source = _source_of(recipe)
    found = _Comments()
    if source is None:
        return found
    starts = _dsl_comments if source.name.lower().endswith(".spn") else _yaml_comments
    for start in starts(source.text):
        before = source.text[:start]
        number = before.count("\n") + 1
        text = source.text[start:].split("\n", 1)[0].rstrip()
        if before.rsplit("\n", 1)[-1].strip():
            found.trailing[number] = text
        else:
            found.own_line.append((number, text))
    return found


def _dsl_comments(text: str) -> Iterator[int]:
    """Where comments start in the small language: at any `#` outside of quotes."""
    for match in re.finditer(r""""[^"\n]*"|'[^'\n]*'|#[^\n]*""", text):
        if match[0].startswith("#"):
            yield match.start()


def _yaml_comments(text: str) -> Iterator[int]:
    """Where comments start in YAML: at a `#` after a space, outside of scalars."""
    scalars = [t for t in yaml.scan(text) if isinstance(t, yaml.ScalarToken)]
    ends = [(t.start_mark.index, t.end_mark.index) for t in scalars]
    sign = re.compile(r"(?m)(?:^|(?<=\s))#")
    match = sign.search(text)
    while match is not None:
        at = match.start()
        after = next((end for start, end in ends if start <= at < end), None)
        if after is None:
            yield at
            after = text.find("\n", at)
            if after < 0:
                return
        match = sign.search(text, after)


def _source_of(recipe: Recipe) -> Source | None:
    span: Span | None = recipe.spans.get("")
    return span.source if span is not None else None


# ---- YAML ------------------------------------------------------------------------------------


class _Yaml:
    def __init__(self, comments: _Comments) -> None:
        self.comments = comments
        self.lines: list[str] = []

    def text(self, group: _Group) -> str:
        self.mapping(group, "", "")
        self.lines += self.comments.rest()
        return "\n".join([*self.lines, ""])

    def add(self, text: str, line: int, indent: str) -> None:
        if line:
            self.lines += [f"{indent}{c}" for c in self.comments.before(line)]
        beside = self.comments.beside(line)
        self.lines.append(f"{text}  {beside}" if beside else text)

    def mapping(self, group: _Group, first: str, indent: str) -> None:
        """The lines of a mapping; `first` stands before its first key, `indent` before others."""
        lead = first
        entries = list(group.items)
        if group.name is not None:
            entries.insert(0, _Item(group.name_key, group.name, group.line))
        for item in entries:
            margin = lead[: len(lead) - len(lead.lstrip())]  # a list's dash stands here
            value = item.value
            if isinstance(value, _Group) and not value.items and value.name is not None:
                value = value.name
            if isinstance(value, _Group) and indent == "":
                self.add(f"{lead}{item.key}:", item.line, margin)
                self.mapping(value, "  ", "  ")
            elif isinstance(value, list) and value and isinstance(value[0], _Group):
                self.add(f"{lead}{item.key}:", item.line, margin)
                for each in value:
                    self.mapping(each, f"{indent}  - ", f"{indent}    ")
            else:
                self.add(f"{lead}{item.key}: {_yaml_value(value)}", item.line, margin)
            lead = indent


def _yaml_value(value: Any) -> str:
    if isinstance(value, _Group):
        named = [(value.name_key, value.name)] if value.name is not None else []
        pairs = [*named, *((i.key, i.value) for i in value.items)]
        return "{" + ", ".join(f"{k}: {_yaml_value(v)}" for k, v in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml_value(v) for v in value) + "]"
    if value is None:
        return "none"
    if isinstance(value, str) and _reads_as_text(value):
        return value
    if isinstance(value, float) and _is_short_whole(value):
        return repr(int(value))
    # In a list, so that what would end an item is quoted.
    text: str = yaml.safe_dump([value], default_flow_style=True, width=10**9, allow_unicode=True)
    text = text.strip()[1:-1]
    return _short_exponent(text) if isinstance(value, float) else text


def _reads_as_text(value: str) -> bool:
    """Whether a plain word in YAML means just this word, in a list too."""
    return re.fullmatch(r"[A-Za-z_./][\w./:-]*", value) is not None and (
        yaml.safe_load(f"[{value}]") == [value] or value in ("yes", "no")
    )


def _is_short_whole(value: float) -> bool:
    """Whether a number is better written without `.0`, as a person would."""
    return value.is_integer() and abs(value) < 1e6


def _short_exponent(number: str) -> str:
    """`1e-09` as people write it: `1e-9`."""
    return re.sub(r"e([+-])0+(?=\d)", r"e\1", number)


# ---- the small language ----------------------------------------------------------------------


class _Dsl:
    def __init__(self, comments: _Comments) -> None:
        self.comments = comments
        self.lines: list[str] = []

    def text(self, group: _Group) -> str:
        for item in group.items:
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

    def statement(self, item: _Item) -> None:
        word = {"spnc": "spnc", "optimizer": "optimize"}.get(item.key, item.key)
        last = _last_line(item)
        if item.key == "forest":
            self.add("forest {", item.line, item.line)
            for each in item.value:
                self.entry(each)
            self.lines.append("}")
        elif item.key == "data":
            self.add(f"data {self.data(item.value)}", item.line, last)
        elif isinstance(item.value, _Group):
            self.add(_call(word + " ", item.value, ""), item.line, last)
        elif isinstance(item.value, str):
            self.add(f"{word} {_dsl_text(item.value, _NAME)}", item.line, last)
        else:
            self.add(f"{word} {_dsl_value(item.value)}", item.line, last)

    def entry(self, group: _Group) -> None:
        count = next((i.value for i in group.items if i.key == "count"), None)
        rest = tuple(i for i in group.items if i.key != "count")
        lead = f"  {count} x " if count is not None else "  "
        last = max([group.line, *(_last_line(i) for i in group.items)])
        text = _call(lead, _Group(rest, group.name, group.name_key, group.line), "  ")
        self.add(text, group.line, last, "  ")

    def data(self, group: _Group) -> str:
        items = {i.key: i for i in group.items}
        words = []
        source = items.pop("source", None)
        if source is not None and source.value is not None:
            words.append(_dsl_text(source.value, _SOURCE))
        split = items.get("split")
        if split is not None and split.value is not None:
            del items["split"]
            words.append("split " + " / ".join(_dsl_value(v) for v in split.value))
        if items:
            words.append(_call("", _Group(tuple(items.values()), ""), ""))
        return " ".join(words)


def _last_line(item: _Item) -> int:
    if isinstance(item.value, _Group):
        return max([item.line, *(_last_line(i) for i in item.value.items)])
    return item.line


def _call(lead: str, group: _Group, indent: str) -> str:
    name = group.name or ""
    if not group.items:
        return f"{lead}{name}"
    arguments = [f"{i.key} = {_dsl_value(i.value)}" for i in group.items]
    line = f"{lead}{name}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"{lead}{name}(\n" + "".join(f"{indent}  {a},\n" for a in arguments) + f"{indent})"


def _dsl_value(value: Any) -> str:
    if isinstance(value, _Group):
        return _call("", value, "")
    if isinstance(value, list):
        return "[" + ", ".join(_dsl_value(v) for v in value) + "]"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and _is_short_whole(value):
        return repr(int(value))
    if isinstance(value, int | float):
        return _short_exponent(repr(value))
    return _dsl_text(value, f"{_NAME}|{_SOURCE}")


_NAME = r"[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*"  # as in the grammar
_SOURCE = r"[a-z]+:[\w.-]+"


def _dsl_text(value: str, bare: str) -> str:
    """A text, in quotes unless it is one of the words that may stand without."""
    if re.fullmatch(bare, value):
        return value
    return f"'{value}'" if '"' in value else f'"{value}"'

"""From a tree to typed options: every unknown key, wrong type and bad value is reported."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from spnc.common.wording import with_article
from spnc.diagnostics import InputError, Sink, Span, did_you_mean
from spnc.registry import Field, Options, Registry, Rule, fields_of, optional_type
from spnc.spec.override import from_command_line
from spnc.spec.single_values import FAILED, single_value, wrong_type
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence, Tree, short

O = TypeVar("O", bound=Options)  # noqa: E741
# Values of entries that were bound without a word; the entries are kept, so that ids stay theirs.
Bound = dict[int, tuple[Entry, Any]]


def bind(
    cls: type[O],
    tree: Tree,
    at: Span,
    sink: Sink,
    hidden: str = "",
    known: Bound | None = None,
) -> O | None:
    """The options that a mapping holds, or None after reporting every problem. `at` is its key.

    `hidden` is an option that is not written among the others, and is not suggested. Entries of
    the mapping whose values are `known` are not bound again; others are added.

    A single value may stand in place of the mapping: the name of a plug-in whose options would
    stand among these (`chow-liu` for `{learner: chow-liu}`), or the value of the options that the
    class names in `one_value_for`. Such a value may also stand before a mapping: `--set
    smoothing.weights=1` is laid over `smoothing: 0.1`.
    """
    fields = fields_of(cls)
    if cls.one_value_for:
        spelt_out = _spelt_out(cls, tree, at, sink)
        if spelt_out is None:
            return None
        tree = spelt_out
    elif isinstance(tree, Scalar) and isinstance(tree.value, str) and _takes_name(cls):
        tree = Mapping((), tree.span, tree)
    if not isinstance(tree, Mapping):
        first = next((name for name, f in fields.items() if f.required), next(iter(fields)))
        value = short(tree.text) if isinstance(tree, Scalar) and tree.text else "…"
        help = f"write options as `key: value`, such as `{first}: {value}`"
        wrong_type("options with their values", tree, sink, help)
        return None
    return _Binder(cls, tree, at, sink, hidden=hidden, known=known).bind()


def _takes_name(cls: type[Options]) -> bool:
    """Whether a plug-in's name and options stand among the options of a class."""
    return any(f.rule.inline for f in fields_of(cls).values())


def _spelt_out(cls: type[Options], tree: Tree, at: Span, sink: Sink) -> Tree | None:
    """A single value as the mapping it stands for, or None after reporting what is wrong."""
    single = tree.head if isinstance(tree, Mapping) else tree
    if not isinstance(single, Scalar):
        return tree
    field = fields_of(cls)[cls.one_value_for[0]]
    kind, _ = optional_type(field.type)
    if _convert(kind, field.rule, single, at, sink) is FAILED:
        return None
    given = tree.entries if isinstance(tree, Mapping) else ()
    others = [n for n in cls.one_value_for if all(e.key != n for e in given)]
    return Mapping((*given, *(Entry(n, at, single) for n in others)), tree.span)


def _report_repeated_keys(tree: Mapping, sink: Sink) -> bool:
    """Report keys that a mapping has twice (E103); return whether there are any."""
    first: dict[str, Entry] = {}
    for entry in tree.entries:
        if entry.key in first:
            sink.error(
                "E103",
                f"`{entry.key}` is given twice",
                entry.key_span,
                notes=[f"first given at {first[entry.key].key_span}"],
                help="keep one of them",
            )
        first.setdefault(entry.key, entry)
    return len(first) < len(tree.entries)


class _Binder(typing.Generic[O]):
    """Binds one mapping; `beside` has options that may stand next to its own, for suggestions."""

    def __init__(
        self,
        cls: type[O],
        tree: Mapping,
        at: Span,
        sink: Sink,
        beside: Iterable[str] = (),
        hidden: str = "",
        known: Bound | None = None,
    ) -> None:
        self.cls, self.tree, self.at, self.sink = cls, tree, at, sink
        self.fields = fields_of(cls)
        self.beside, self.hidden, self.known = beside, hidden, known
        self.failed = False

    def bind(self) -> O | None:
        self.failed = _report_repeated_keys(self.tree, self.sink)
        values: dict[str, Any] = {}
        spans: dict[str, Span] = {"": self.at}
        for field in self.fields.values():
            if field.rule.inline:
                entries = self._other_entries()
                value, span = self._inline(field, entries)
            else:
                entry = self.tree.get(field.name)
                if entry is None:
                    if field.required:
                        self._missing(field)
                    continue
                value, span = self._value(field, entry), _place(entry)
            if value is FAILED:
                self.failed = True
            else:
                values[field.name] = value
                spans[field.name] = span
        if not any(f.rule.inline for f in self.fields.values()):
            self._report_unknown_keys()
        if self.failed:
            return None
        made = self.cls(**values, spans=spans)
        conflicts = list(made.conflicts())
        for conflict in conflicts:
            where = made.span_of(conflict.field)
            self.sink.error("E111", conflict.message, where, help=conflict.help)
        return made if not conflicts else None

    def _value(self, field: Field, entry: Entry) -> Any:
        if self.known is not None and id(entry) in self.known:
            return self.known[id(entry)][1]
        said = len(self.sink.diagnostics)
        value = bind_value(field, entry, self.sink)
        if self.known is not None and len(self.sink.diagnostics) == said:
            self.known[id(entry)] = entry, value
        return value

    def _other_entries(self) -> list[Entry]:
        """Entries that are none of the class's own options."""
        own = {name for name, f in self.fields.items() if not f.rule.inline}
        return [e for e in self.tree.entries if e.key not in own]

    def _report_unknown_keys(self) -> None:
        known = [name for name in (*self.fields, *self.beside) if name != self.hidden]
        owner = f"of `{self.cls.plugin_name}`" if self.cls.plugin_name else "here"
        for entry in self._other_entries():
            self.failed = True
            self.sink.error(
                "E104",
                f"`{entry.key}` is not an option {owner}",
                entry.key_span,
                help=did_you_mean(entry.key, known) if known else "it has no options",
            )

    def _missing(self, field: Field) -> None:
        self.failed = True
        self.sink.error(
            "E105", f"`{field.name}` is missing", self.at, help=f"it is {field.rule.doc}"
        )

    def _inline(self, field: Field, entries: list[Entry]) -> tuple[Any, Span]:
        """Bind the plug-in whose options stand among those of the class."""
        registry = field.rule.registry
        assert registry is not None
        rest = Mapping(tuple(entries), self.tree.span, self.tree.head)
        value = _bind_choice(registry, rest, self.at, None, self.sink, beside=self.fields)
        span = self.at
        name = self.tree.head or (entry.value if (entry := rest.get(registry.key)) else None)
        return value, name.span if name is not None else span


def bind_value(field: Field, entry: Entry, sink: Sink) -> Any:
    """The typed value of an entry, or FAILED after reporting."""
    tree = entry.value
    inner, optional = optional_type(field.type)
    says_none = isinstance(tree, Scalar) and tree.says_none
    registry = field.rule.registry
    if optional and says_none and not (registry is not None and "none" in registry):
        return None
    if registry is not None:
        if isinstance(tree, Scalar) and tree.value is None:
            tree = Scalar("none", "none", tree.span)
        default = type(field.default) if field.default is not None else None
        return _bind_choice(registry, tree, entry.key_span, default, sink)
    if field.rule.keyed:
        return _convert_keyed(typing.get_args(inner)[0], field.rule.keyed, tree, sink)
    return _convert(inner, field.rule, tree, entry.key_span, sink)


def _convert_keyed(cls: type[Options], key: str, tree: Tree, sink: Sink) -> Any:
    """Bind a mapping whose keys are one option of each entry, and whose values are the others.

    A single value stands for the option that the class names in `one_value_for`.
    """
    if not isinstance(tree, Mapping):
        if isinstance(tree, Sequence) and not tree.items:
            return ()
        return wrong_type("a mapping", tree, sink, f"write `{key}: …` for each")
    repeated = _report_repeated_keys(tree, sink)
    made = []
    for entry in tree.entries:
        name = Entry(key, entry.key_span, Scalar(entry.key, entry.key, entry.key_span, quoted=True))
        value = entry.value
        if isinstance(value, Scalar):
            value = Mapping((name,), value.span, value)
        elif isinstance(value, Mapping):
            value = replace(value, entries=(name, *value.entries))
        made.append(bind(cls, value, entry.key_span, sink, hidden=key))
    return FAILED if repeated or None in made else tuple(made)


def _bind_choice(
    registry: Registry[Any],
    tree: Tree,
    at: Span,
    default: type[Options] | None,
    sink: Sink,
    beside: Iterable[str] = (),
) -> Any:
    """Bind a plug-in by its name and options; `beside` has other options of the same mapping."""
    name: Scalar | None
    entries: tuple[Entry, ...]
    if isinstance(tree, Scalar):
        name, entries = tree, ()
    elif isinstance(tree, Mapping):
        named = tree.get(registry.key)
        if tree.head is not None and named is not None and not from_command_line(named):
            named = None  # `em(method = …)`: the name is before the brackets, once
        name = tree.head
        entries = tuple(e for e in tree.entries if e is not named)
        if named is not None and isinstance(named.value, Scalar):
            name = named.value
        elif named is not None:
            return wrong_type(f"the name of {with_article(registry.kind)}", named.value, sink)
    else:
        return wrong_type(with_article(registry.kind), tree, sink)
    if name is None:
        beside = (registry.key, *beside)  # which may be what a misspelt key was meant to be
    if name is None and default is None:
        sink.error(
            "E105",
            f"`{registry.key}` is missing",
            at,
            help=f"it names {with_article(registry.kind)}: {', '.join(registry)}",
        )
        return FAILED
    try:
        cls = default if name is None else registry.find(name.text)
    except InputError as error:  # an outside plug-in that cannot be used
        assert name is not None
        sink.diagnostics += [replace(d, span=name.span) for d in error.diagnostics]
        return FAILED
    if cls is None:
        assert name is not None
        sink.error(
            "E109",
            f"no {registry.kind} is named `{name.text}`",
            name.span,
            help=did_you_mean(name.text, registry),
        )
        return FAILED
    place = name.span if name is not None else at
    made = _Binder(cls, Mapping(entries, tree.span), place, sink, beside).bind()
    return FAILED if made is None else made


def _convert(kind: Any, rule: Rule, tree: Tree, at: Span, sink: Sink) -> Any:
    """A value of the annotated type, or FAILED after reporting."""
    origin = typing.get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, Options):
        made = bind(kind, tree, at, sink)
        return FAILED if made is None else made
    if origin is tuple:
        return _convert_tuple(typing.get_args(kind), rule, tree, sink)
    if isinstance(tree, Mapping) and tree.head is not None and from_command_line(tree.entries[0]):
        place = tree.entries[0].key_span
        sink.error("E113", f"`{tree.head.text}` is a plain value, without options", place)
        return FAILED
    return single_value(kind, rule, tree, sink)


def _convert_tuple(kinds: tuple[Any, ...], rule: Rule, tree: Tree, sink: Sink) -> Any:
    if kinds[-1] is Ellipsis and isinstance(tree, Scalar) and isinstance(tree.value, str):
        tree = Sequence((tree,), tree.span)  # a list of one
    if not isinstance(tree, Sequence):
        help = "begin each entry with `- `" if isinstance(tree, Mapping) else None
        return wrong_type("a list", tree, sink, help)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(tree.items)
    elif len(kinds) != len(tree.items):
        sink.error("E106", f"expected {len(kinds)} values, found {len(tree.items)}", tree.span)
        return FAILED
    values = []
    for kind, item in zip(kinds, tree.items, strict=True):
        place = item.head.span if isinstance(item, Mapping) and item.head else item.span
        values.append(_convert(kind, rule, item, place, sink))
    return FAILED if any(v is FAILED for v in values) else tuple(values)


def _place(entry: Entry) -> Span:
    """Where messages about an option point: at its value, or at its key when that is long."""
    if isinstance(entry.value, Mapping):
        return entry.value.head.span if entry.value.head is not None else entry.key_span
    span = entry.value.span
    return span if span.line == span.end_line else entry.key_span

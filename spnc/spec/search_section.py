"""`search` in a spec: the choices in its tree, and the recipe of every try.

A choice is a mapping `{search: [...]}` where a value would stand; in the language it is written
`search [...]`. For every try the values are put into the tree, which is then bound as any other:
a bad value is reported where it stands in its list.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from collections.abc import Mapping as Map
from collections.abc import Sequence as Many
from dataclasses import replace
from typing import Any

from spnc.common.rng import random_stream
from spnc.diagnostics import Diagnostic, Sink, Span, counted
from spnc.spec.bind import Bound, bind
from spnc.spec.outline import Group, options_at, outline, place_of, value_at
from spnc.spec.recipe import Recipe
from spnc.spec.relocate import without_place
from spnc.spec.space import MOST_TRIES, Choice, Search, Space, Try
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence, Tree, describe, short
from spnc.spec.write_dsl import dsl_value

KEY = "search"
# Options that identify a run, and are the same for every try.
FIXED = ("spnc", "model", "plugins", "data", "backend", "limits", "cluster", "lock", KEY)
# What tries have to have in common to be compared, and the forest, whose entries are searched for.
_FIXED_PATHS = (("forest",), ("objective",), ("objective", "kind"), ("objective", "target"))
_FEW = 1_000_000  # points of a grid that are numbered in an array to draw from them


def bind_recipe(tree: Tree, at: Span, sink: Sink) -> Recipe | None:
    """The recipe of a tree; with choices, that of the first try, and a `space` of them all."""
    found = _Finder(sink)
    found.look(tree, ())
    if not found.nodes and not found.failed:
        return bind(Recipe, tree, at, sink)
    if not found.usable:
        return None
    return _Expansion(tree, at, found, sink).recipe()


class _Finder:
    """Finds the choices of a tree, and reports those that are not well formed."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.failed = False
        self.usable = True  # whether the rest can be checked in spite of the errors
        self.paths: list[tuple[str, ...]] = []
        self.nodes: list[Mapping] = []
        self.values: list[tuple[Tree, ...]] = []

    def look(self, tree: Tree, path: tuple[str, ...]) -> None:
        if isinstance(tree, Sequence):
            for i, item in enumerate(tree.items):
                self.look(item, (*path, str(i)))
        elif isinstance(tree, Mapping):
            if path and (entry := _choice(tree)) is not None:
                self._take(tree, entry, path)
                return
            for entry in tree.entries:
                self.look(entry.value, (*path, entry.key))

    def _take(self, tree: Mapping, entry: Entry, path: tuple[str, ...]) -> None:
        place, value = entry.key_span, entry.value
        for other in tree.entries:
            if other is not entry:
                message = f"`{KEY}` cannot have `{other.key}` beside it"
                help = f"write `{path[-1]}: {{{KEY}: [...]}}`, and the other option elsewhere"
                self._report("E130", message, other.key_span, help)
        if path[0] in FIXED or path[:2] in _FIXED_PATHS:
            fixed = path[0] if path[0] in FIXED else ".".join(path[:2])
            self._report(
                "E132",
                f"`{fixed}` cannot be searched for",
                place,
                "give it one value; options in the entries of `forest`, `residual`, `optimizer`, "
                "`smoothing`, `shares`, `prune`, `seed`, and of `objective` all but its target, "
                "can be searched for",
            )
        if not isinstance(value, Sequence):
            message = f"`{KEY}` needs a list of values to try, found {describe(value)}"
            shown = short(value.text) if isinstance(value, Scalar) and value.text else "…"
            self._report("E130", message, value.span, f"write `[{shown}, …]`")
            self.usable = False
            return
        if not value.items:
            self._report("E130", f"`{KEY}` has no values to try", value.span, "list at least one")
            self.usable = False
            return
        for inner in _choices_below(value):
            message = f"a `{KEY}` is inside another"
            help = "list all values in one search, or give each option its own search"
            self._report("E131", message, inner.key_span, help)
            self.usable = False
        seen: set[tuple[object, str]] = set()
        for item in value.items:
            if isinstance(item, Scalar):
                key = (
                    (item.value, "")
                    if isinstance(item.value, int | float)
                    else ("", item.text.replace("_", "-"))
                )
                if key in seen:
                    message = f"`{short(item.text)}` is in the list twice"
                    self._report("E130", message, item.span, "keep one of them")
                seen.add(key)
        self.paths.append(path)
        self.nodes.append(tree)
        self.values.append(value.items)

    def _report(self, code: str, message: str, span: Span, help: str) -> None:
        self.failed = True
        self.sink.error(code, message, span, help=help)


class _Expansion:
    """Binds the recipe of every try, and reports each problem once."""

    def __init__(self, tree: Tree, at: Span, found: _Finder, sink: Sink) -> None:
        self.tree, self.at, self.found, self.sink = tree, at, found, sink
        self.sizes = [len(values) for values in found.values]
        self.bound: dict[tuple[int, ...], Recipe | None] = {}
        self.reported: set[tuple[str, str, str]] = set()
        self.failed = found.failed
        # What tries have in common is made and bound once.
        self.entries: dict[tuple[int, ...], Entry] = {}
        self.values: Bound = {}

    def recipe(self) -> Recipe | None:
        """The recipe with its space, or None after reporting every problem of every try."""
        first = (0,) * len(self.sizes)
        whole = self._bind(self._with(self.tree, first), ())
        variations = [
            [self._try((*first[:k], j, *first[k + 1 :])) for j in range(size)]
            for k, size in enumerate(self.sizes)
        ]
        if self.failed:
            return None
        assert whole is not None
        choices = tuple(
            _choice_of(path, node, [recipe for recipe in bound if recipe is not None])
            for path, node, bound in zip(
                self.found.paths, self.found.nodes, variations, strict=True
            )
        )
        self._report_equal(choices)
        # The order must not depend on how the spec is written: formatting changes no try.
        order = sorted(range(len(choices)), key=lambda k: place_of(whole, choices[k].path))
        tries = []
        for point in self._points(whole.search or Search(), order):
            picks = [0] * len(order)
            for k, pick in zip(order, point, strict=True):
                picks[k] = pick
            recipe = self._try(tuple(picks), together=True)
            if recipe is not None:
                tries.append(Try(point, recipe))
        if self.failed:
            return None
        return replace(whole, space=Space(tuple(choices[k] for k in order), tuple(tries)))

    def _report_equal(self, choices: Many[Choice]) -> None:
        """Report values that are written in different ways, and mean the same."""
        for choice, items in zip(choices, self.found.values, strict=True):
            seen: set[str] = set()
            for value, item in zip(choice.values, items, strict=True):
                text = value_text(value)
                if text in seen:
                    self.failed = True
                    message = f"`{text}` is in the list twice"
                    self.sink.error("E130", message, item.span, help="keep one of them")
                seen.add(text)

    def _points(self, how: Search, order: list[int]) -> list[tuple[int, ...]]:
        """The points to try, by the choices in this order."""
        grid = math.prod(self.sizes)
        if how.tries is None and grid > MOST_TRIES:
            product = " x ".join(f"{size:,}" for size in self.sizes)
            self.failed = True
            self.sink.error(
                "E133",
                f"the grid has {grid:,} tries; without `tries`, the limit is {MOST_TRIES:,}",
                self.found.nodes[0].span,
                notes=[f"{product} values"],
                help=f"try a sample: `{KEY}: {{tries: 100}}` at the top level of the spec",
            )
            return []
        return points([self.sizes[k] for k in order], how)

    def _try(self, picks: tuple[int, ...], *, together: bool = False) -> Recipe | None:
        if picks not in self.bound:
            tree = self.tree
            if isinstance(tree, Mapping):  # how to search is not part of a try
                tree = replace(tree, entries=tuple(e for e in tree.entries if e.key != KEY))
            self.bound[picks] = self._bind(self._with(tree, picks), picks if together else ())
        return self.bound[picks]

    def _with(self, tree: Tree, picks: tuple[int, ...]) -> Tree:
        """The tree with the values of a point; equal entries of the spec are the same object."""
        pairs = zip(self.found.nodes, self.found.values, picks, strict=True)
        chosen = {id(node): values[pick] for node, values, pick in pairs}
        if not isinstance(tree, Mapping) or id(tree) in chosen:
            return put(tree, chosen)
        entries = []
        for entry in tree.entries:
            inside = (k for k, path in enumerate(self.found.paths) if path[0] == entry.key)
            key = (id(entry), *(picks[k] for k in inside))
            if key not in self.entries:
                self.entries[key] = replace(entry, value=put(entry.value, chosen))
            entries.append(self.entries[key])
        return replace(tree, entries=tuple(entries))

    def _bind(self, tree: Tree, picks: tuple[int, ...]) -> Recipe | None:
        """Bind a tree; report each problem once, with the values that cause it only together."""
        problems = Sink()
        recipe = bind(Recipe, tree, self.at, problems, known=self.values)
        for d in problems.diagnostics:
            self.failed = self.failed or d.severity == "error"
            key = (str(d.span), d.code, d.message)
            if key not in self.reported:
                self.reported.add(key)
                self.sink.diagnostics.append(self._named(d, picks) if picks else d)
        return recipe

    def _named(self, problem: Diagnostic, picks: tuple[int, ...]) -> Diagnostic:
        chosen = zip(self.found.paths, self.found.values, picks, strict=True)
        said = ", ".join(
            f"{'.'.join(path)} = {_text(values[pick])}" for path, values, pick in chosen
        )
        return replace(problem, notes=(*problem.notes, f"in the try with {said}"))


def points(sizes: Many[int], how: Search) -> list[tuple[int, ...]]:
    """The points of a grid, the last choice varying fastest; or a random sample of them.

    A sample has no point twice, and is in the order of the grid.
    """
    grid = math.prod(sizes)
    if how.tries is None or how.tries >= grid:
        return list(itertools.product(*(range(size) for size in sizes)))
    rng = random_stream(how.seed, KEY)
    drawn: set[tuple[int, ...]] = set()
    if grid <= _FEW:
        for number in rng.permutation(grid)[: how.tries].tolist():
            place = []
            for size in reversed(sizes):
                number, digit = divmod(number, size)
                place.append(digit)
            drawn.add(tuple(reversed(place)))
    while len(drawn) < how.tries:  # repeats are rare in so large a grid
        drawn.add(tuple(rng.integers(sizes).tolist()))
    return sorted(drawn)


def put(tree: Tree, values: Map[int, Tree]) -> Tree:
    """The tree with some of its nodes, given by their id, replaced by other values."""
    if id(tree) in values:
        return values[id(tree)]
    if isinstance(tree, Mapping):
        entries = (replace(e, value=put(e.value, values)) for e in tree.entries)
        return replace(tree, entries=tuple(entries))
    if isinstance(tree, Sequence):
        return replace(tree, items=tuple(put(item, values) for item in tree.items))
    return tree


def one_recipe_only(recipe: Recipe, sink: Sink) -> None:
    """Report a recipe with searches where a single circuit is needed (E134)."""
    if recipe.space is None:
        return
    choices = recipe.space.choices
    texts = {c.name: [value_text(v) for v in c.values] for c in choices}
    # Values with options are written in another way on the command line.
    plain = {name: next((t for t in found if "(" not in t), "…") for name, found in texts.items()}
    first = " ".join(f"--set {name}={text}" for name, text in plain.items())
    sink.error(
        "E134",
        f"this spec searches over {counted(len(choices), 'option')}; one circuit is needed here",
        choices[0].span,
        notes=[f"{name}: {', '.join(found)}" for name, found in texts.items()],
        help=f"choose values, for example with {first}",
    )


def value_text(value: Any) -> str:
    """A value of a choice as people write it."""
    return value if isinstance(value, str) else dsl_value(value)


def _choice(tree: Mapping) -> Entry | None:
    return tree.get(KEY) if tree.head is None else None


def _choices_below(tree: Tree) -> Iterator[Entry]:
    if isinstance(tree, Sequence):
        for item in tree.items:
            yield from _choices_below(item)
    elif isinstance(tree, Mapping):
        entry = _choice(tree)
        if entry is not None:
            yield entry
            return
        for each in tree.entries:
            yield from _choices_below(each.value)


def _choice_of(path: tuple[str, ...], node: Mapping, variations: list[Recipe]) -> Choice:
    values = []
    for recipe in variations:
        value = value_at(outline(recipe, full=False), path)
        if isinstance(value, Group) and value.items:  # the same, however much of it was written
            value = outline(without_place(options_at(recipe, path)), full=False)
        values.append(dsl_value(value) if isinstance(value, Group) else value)
    entry = node.get(KEY)
    assert entry is not None
    span = entry.value.span if entry.value.span.line == entry.value.span.end_line else node.span
    return Choice(path, span, tuple(values), tuple(variations))


def _text(tree: Tree) -> str:
    return tree.text if isinstance(tree, Scalar) else describe(tree)

"""The choices of a recipe with searches, and a plain recipe for every try."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spnc.diagnostics import Span
from spnc.registry import Options, option

if TYPE_CHECKING:
    from spnc.spec.recipe import Recipe

MOST_TRIES = 10_000


@dataclass(frozen=True, kw_only=True)
class Search(Options):
    """How the values under `search` are tried; the best on the validation rows is kept."""

    tries: int | None = option(
        None,
        "the most tries, drawn at random from the grid without repeats; none: the whole grid",
        min=1,
        max=MOST_TRIES,
    )
    seed: int = option(0, "the seed by which tries are drawn from the grid", min=0)


@dataclass(frozen=True)
class Choice:
    """One `search` of a spec; `variations` has a recipe for each of its values."""

    path: tuple[str, ...] = field(compare=False)  # keys and numbers, as in `--set`
    span: Span | None = field(compare=False, repr=False)
    # As shown: numbers and words; a plug-in as text, with those options that are not the default.
    values: tuple[Any, ...] = field(compare=False)
    variations: tuple[Recipe, ...]  # with each of the values, and all others at their first

    @property
    def name(self) -> str:
        """The path in one word, as in `--set forest.0.beta=0.5`."""
        return ".".join(self.path)


@dataclass(frozen=True)
class Try:
    """One point of the grid: the value that each choice takes, by position, and the recipe."""

    picks: tuple[int, ...]
    recipe: Recipe


@dataclass(frozen=True)
class Space:
    """All choices, in the order of the declared options, and all tries; the last varies fastest."""

    choices: tuple[Choice, ...]
    tries: tuple[Try, ...]

    def values(self, one: Try) -> dict[str, Any]:
        """The values of a try, by the names of the choices."""
        pairs = zip(self.choices, one.picks, strict=True)
        return {choice.name: choice.values[pick] for choice, pick in pairs}

    def map(self, change: Callable[[Recipe], Recipe]) -> Space:
        """The same choices with every recipe changed."""
        return Space(
            tuple(
                replace(c, variations=tuple(change(r) for r in c.variations)) for c in self.choices
            ),
            tuple(Try(t.picks, change(t.recipe)) for t in self.tries),
        )


def short_names(names: Iterable[str]) -> list[str]:
    """Short names of choices for tables: the last word, or the whole if that is not unique."""
    names = list(names)
    last = [name.rsplit(".", 1)[-1] for name in names]
    return [
        word if last.count(word) == 1 and not word.isdigit() else name
        for name, word in zip(names, last, strict=True)
    ]

"""What one compilation can take over from another, when a search makes many of one spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace

from spnc.data.dataset import Dataset
from spnc.graph.forest import Forest
from spnc.registry import fields_of
from spnc.spec.recipe import Recipe


class Shelf:
    """An empty shelf: everything is made anew, and nothing is kept."""

    def dataset(self, read: Callable[[], Dataset | None]) -> Dataset | None:
        """The dataset of the spec, read unless it is here."""
        return read()

    def forest(self, recipe: Recipe, grow: Callable[[], Forest]) -> Forest:
        """The forest of a recipe, before links, grown unless it is here. It may be changed."""
        del recipe
        return grow()


class TriesShelf(Shelf):
    """The dataset of all tries, and the forest of those that have the same one."""

    def __init__(self, dataset: Dataset, recipes: Iterable[Recipe]) -> None:
        self._dataset = dataset
        self._wanted = Counter(forest_key(recipe) for recipe in recipes)
        self._forests: dict[Hashable, Forest] = {}

    def dataset(self, read: Callable[[], Dataset | None]) -> Dataset | None:
        """The one dataset."""
        del read
        return self._dataset

    def skip(self, recipe: Recipe) -> None:
        """A try that turns out not to need its forest."""
        self._count_down(forest_key(recipe))

    def forest(self, recipe: Recipe, grow: Callable[[], Forest]) -> Forest:
        """The forest as grown: a copy, unless this is the last try that wants it."""
        key = forest_key(recipe)
        found = self._forests.get(key) or grow()
        if self._count_down(key):
            self._forests[key] = found
            return found.copy()
        return found

    def _count_down(self, key: Hashable) -> bool:
        """Whether others want it as well; otherwise it is dropped."""
        self._wanted[key] -= 1
        if self._wanted[key] > 0:
            return True
        self._forests.pop(key, None)
        return False


def forest_key(recipe: Recipe) -> Hashable:
    """What a forest depends on, before links: all that a recipe says, but for what comes after."""
    return replace(circuit_key(recipe), residual=fields_of(Recipe)["residual"].default)


def circuit_key(recipe: Recipe) -> Recipe:
    """What a circuit depends on before it is trained: all but how it is trained and pruned."""
    return replace(recipe, optimizer=fields_of(Recipe)["optimizer"].default, prune=None)

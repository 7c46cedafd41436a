"""Promises: properties of a plug-in that hold for every seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

SEEDS = 25  # tried by default; hypothesis finds more in spnc's own tests
FEW = 4  # for promises that take long to check, or depend little on the seed


@dataclass(frozen=True)
class Promise:
    """A function `(plug-in, seed)` that raises AssertionError where a property does not hold."""

    check: Callable[[Any, int], None]
    seeds: int = SEEDS

    @property
    def name(self) -> str:
        """The property in a few words."""
        return self.check.__name__.replace("_", " ")

    def __call__(self, plugin: Any, seed: int) -> None:
        """Check the property with the random numbers of one seed."""
        self.check(plugin, seed)


def hold(promises: Iterable[Promise], plugin: Any, title: str, seeds: int | None) -> None:
    """Check all promises; name the one that is broken, and the seed that shows it."""
    for promise in promises:
        for seed in range(promise.seeds if seeds is None else min(seeds, promise.seeds)):
            try:
                promise(plugin, seed)
            except AssertionError as error:
                what = f"{title}: {promise.name} (seed {seed}): {error}"
                raise AssertionError(what) from error


def global_random_state() -> bytes:
    """The state of numpy's global random numbers, which no plug-in may use."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    return bytes(state["state"]["key"].tobytes()) + str(state["state"]["pos"]).encode()


def expect(condition: object, message: str) -> None:
    """Raise AssertionError with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def expect_close(
    found: ArrayLike, wanted: ArrayLike, what: str, *, rel: float = 1e-6, abs: float = 1e-12
) -> None:
    """Raise AssertionError unless numbers agree: each to `rel` of the wanted one, or to `abs`."""
    a, b = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    expect(a.shape == b.shape, f"{what}: the shape is {a.shape}, not {b.shape}")
    with np.errstate(invalid="ignore"):
        near = (a == b) | (np.abs(a - b) <= np.maximum(rel * np.abs(b), abs))
    if not near.all():
        at = np.unravel_index(int(np.argmin(near)), near.shape)
        place = f" at {tuple(int(i) for i in at)}" if near.ndim else ""
        raise AssertionError(f"{what}: {a[at]!r}{place}, where {b[at]!r} was expected")

"""`Forest`: the components of an ensemble in one graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spnc.graph.nodes import Builder


@dataclass(frozen=True, eq=False)
class Forest:
    """Components in one graph, by their roots; they may share nodes once links are drawn."""

    builder: Builder
    roots: tuple[int, ...]
    weights: tuple[float, ...] | None = None  # in the sum on top, before division; None: equal
    entries: tuple[int, ...] = ()  # the entry of the spec that each component belongs to
    # The entry of each component that was fitted alone, and the iteration that was kept.
    fits: tuple[tuple[int, int], ...] = ()

    @property
    def shares(self) -> list[float]:
        """The weight of each component in the sum on top."""
        weights = self.weights or (1.0,) * len(self.roots)
        total = sum(weights)
        return [weight / total for weight in weights]

    @property
    def entry_shares(self) -> dict[int, float]:
        """What the components of each entry count together in the sum on top."""
        found: dict[int, float] = {}
        for entry, share in zip(self.entries, self.shares, strict=True):
            found[entry] = found.get(entry, 0.0) + share
        return found

    def copy(self) -> Forest:
        """Return a copy that can be linked and given a top sum without changing this forest."""
        return replace(self, builder=self.builder.copy())

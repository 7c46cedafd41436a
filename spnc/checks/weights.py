"""The weights of a sum are finite, not negative, and add up to one; products have none."""

from __future__ import annotations

import math
from collections.abc import Iterable

from spnc.checks.view import View
from spnc.diagnostics import listed
from spnc.graph.assemble import as_number
from spnc.graph.nodes import Product, Sum
from spnc.leaves.smoothing import SUM_TOLERANCE


def check(view: View) -> None:
    """E206: wrong total. E207: negative or not finite. E219: missing. E225: below a product."""
    damaged = view.graph.graph.get("damaged", ())
    for n, payload in view.node.items():
        if n in damaged:
            continue
        edges = view.below[n]
        if isinstance(payload, Product):
            stray = [c for c, data in edges.items() if data.get("weight") is not None]
            if stray:
                view.error(
                    "E225",
                    f"{view.title(n)} has weights on its edges",
                    n,
                    [f"to: {listed(view.titles(stray))}"],
                    "only sums weigh their children",
                )
        elif isinstance(payload, Sum) and edges:
            _check_sum(view, n, {c: data.get("weight") for c, data in edges.items()})


def _check_sum(view: View, n: object, weights: dict[object, object]) -> None:
    numbers = {c: w for c, w in ((c, as_number(w)) for c, w in weights.items()) if w is not None}
    if len(numbers) < len(weights):
        without = [c for c in weights if c not in numbers]
        shown = [
            view.title(c) if weights[c] is None else f"{view.title(c)} (`{weights[c]}`)"
            for c in without
        ]
        view.error(
            "E219",
            f"{view.title(n)} has children without a weight",
            n,
            [f"children: {listed(shown)}"],
            "every edge of a sum carries a number as its weight",
        )
        return
    bad = {c: w for c, w in numbers.items() if not math.isfinite(w) or w < 0}
    if bad:
        view.error(
            "E207",
            f"{view.title(n)} has weights that are negative or not finite",
            n,
            [f"{view.title(c)}: {w:g}" for c, w in bad.items()],
            "weights are probabilities of the children",
        )
        return
    total = _total(numbers.values())
    if abs(total - 1.0) > SUM_TOLERANCE:
        notes = [f"weights: {listed([f'{w:g}' for w in numbers.values()])}"]
        help = None
        if 0 < total < math.inf:
            mended = [f"{w / total:.12g}" for w in numbers.values()]
            help = f"divided by their total they are: {listed(mended)}"
        view.error(
            "E206", f"the weights of {view.title(n)} sum to {total:.10g}, not to 1", n, notes, help
        )


def _total(weights: Iterable[float]) -> float:
    """Return the exact sum of finite weights, rounded once; infinity if no double can hold it."""
    try:
        return math.fsum(weights)
    except OverflowError:
        return math.inf

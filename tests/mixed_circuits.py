"""Random circuits over columns of every kind, with labels and scales of all sorts."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from spnc.data.columns import Column, Scale
from spnc.graph.nodes import Graph, Leaf, payloads
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson
from tests.circuits import random_circuit

LABELS = st.lists(
    st.text(max_size=4) | st.integers() | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False),
    min_size=4, max_size=4, unique=True,
)  # fmt: skip
NUMBERS = st.floats(-1e300, 1e300)
WIDTHS = st.floats(1e-300, 1e300)
SCALES = st.builds(
    lambda low, extent, **others: Scale(low=low, high=low + extent, **others),
    low=NUMBERS, extent=WIDTHS, resolution=WIDTHS, mean=NUMBERS, sd=WIDTHS,
    log_mean=NUMBERS, log_sd=WIDTHS,
)  # fmt: skip


@st.composite
def mixed_circuits(draw: st.DrawFn) -> Graph:
    """A random circuit over a real column, a count, a date, and labels of any type."""
    graph = random_circuit(draw(st.integers(0, 10**6)), variables=6)
    old = graph.graph["columns"]
    labels, units = draw(LABELS), draw(st.lists(st.text(max_size=4), min_size=2, max_size=2))
    scales = draw(st.lists(st.none() | SCALES, min_size=3, max_size=3))
    columns = [
        Column("r", "real", 0, None, scales[0], units[0]),
        Column("c", "count", 0, None, scales[1], units[1]),
        Column("d", "date", 0, None, scales[2], draw(st.sampled_from(["days", "seconds"]))),
    ]
    columns += [replace(c, labels=tuple(labels[: c.states])) for c in old[3:5]]
    graph.graph["columns"] = (*columns, old[5])
    for n, payload in payloads(graph).items():
        if isinstance(payload, Leaf) and payload.variable < 3:
            leaf = Poisson(draw(WIDTHS)) if payload.variable == 1 else Gaussian(
                draw(NUMBERS), draw(WIDTHS)
            )  # fmt: skip
            graph.nodes[n]["node"] = replace(payload, distribution=leaf)
    return graph

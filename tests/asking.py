"""Evidence in three forms: for a page, for `Posterior`, and drawn at random; answers compared."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from spnc.data.columns import Column
from spnc.explore.page import page
from spnc.graph.nodes import Builder, Graph
from spnc.program.program import Parameters, Program
from spnc.queries.events import Box
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import ValueSet
from spnc.registry import LEAVES
from spnc.testing.leaf_cases import LeafCase
from tests.browser import Tab

SHARES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
CLOSE = 1e-9


def every_leaf(seed: int) -> Graph:
    """A mixture of products with a column for every kind of leaf."""
    rng = np.random.default_rng(seed)
    names = sorted(name for name in LEAVES if not name.startswith("restricted-"))
    cases = [LeafCase.of(LEAVES[name], 100 * seed + i) for i, name in enumerate(names)]
    columns = [dataclasses.replace(c.column, name=n) for n, c in zip(names, cases, strict=True)]
    builder = Builder(columns)
    products = [
        builder.product([builder.leaf(i, c.leaf.from_row(c.table[k])) for i, c in enumerate(cases)])
        for k in range(3)
    ]
    builder.sum(products, rng.dirichlet(np.ones(3)).tolist())
    return builder.graph


def random_box(program: Program, rng: np.random.Generator, share: float = 0.5) -> Box:
    """Evidence about a share of the columns: sets of states, and wide, narrow or open intervals."""
    box = {}
    for i, column in enumerate(program.columns):
        if rng.random() > share:
            continue
        if column.is_finite:
            states = np.flatnonzero(rng.random(column.states) < 0.6).tolist()
            values = ValueSet.codes(column, states)
        else:
            values = ValueSet.of(column, [_random_span(column, rng)])
        if not values.is_empty:
            box[i] = values
    return box


def _random_span(column: Column, rng: np.random.Generator) -> tuple[float, float]:
    scale = column.scale
    low, high = (0.0, 10.0) if scale is None else (scale.low, scale.high)
    first, last = np.sort(rng.uniform(low, high, size=2)).tolist()
    form = rng.integers(4)
    if form == 0:
        return -math.inf, last
    if form == 1:
        return first, math.inf
    return first, first + (last - first) * (1.0 if form == 2 else 10.0 ** rng.uniform(-4, 0))


def evidence(program: Program, box: Box) -> dict[str, Any]:
    """Evidence as `spnc.ask` takes it."""
    found: dict[str, Any] = {}
    for i, values in box.items():
        column = program.columns[i]
        if column.is_finite:
            found[column.name] = values.states()
            continue
        ends = zip(("low", "high"), values.spans[0], strict=True)
        found[column.name] = {name: end for name, end in ends if math.isfinite(end)}
    return found


def opened(tab: Tab, path: Path, program: Program, parameters: Parameters) -> None:
    """Write the page of a circuit and open it."""
    path.write_text(page("some", program, parameters, None), encoding="utf-8")
    tab.open(path)
    assert tab.troubles() == []


def ask(tab: Tab, given: dict[str, Any], **more: Any) -> Any:
    """Return the answers of the open page."""
    return tab.ask(f"spnc.ask({json.dumps(given)}, {json.dumps(more)})")


def check_answers(tab: Tab, program: Program, parameters: Parameters, box: Box) -> bool:
    """Compare all answers of the open page with those of Python; False if it is impossible."""
    own = Posterior(program, parameters, [box])
    numeric = [c for c in program.columns if not c.is_finite and c.scale is not None]
    points = {c.name: _points(c) for c in numeric}
    found = ask(tab, evidence(program, box), cdf=points)
    assert found["possible"] == own.is_possible
    if not own.is_possible:
        return False
    assert math.isclose(found["logProbability"], own.log_probability, rel_tol=CLOSE, abs_tol=CLOSE)
    for i, (column, said) in enumerate(zip(program.columns, found["columns"], strict=True)):
        mixture = own.column(i)
        assert said["name"] == column.name
        if column.is_finite:
            near(said["probabilities"], mixture.probabilities(), 1.0, column.name)
            continue
        unit = 1.0 if column.scale is None else max(column.scale.sd, column.scale.resolution)
        near(said["quantiles"], mixture.quantiles(SHARES), unit, f"{column.name}, quantiles")
        mean = mixture.mean()
        if math.isfinite(mean):
            near([said["mean"]], np.array([mean]), unit, f"{column.name}, mean")
        if column.name in points:
            wanted = mixture.cdf(np.array(points[column.name]))
            near(said["cdf"], wanted, 1.0, f"{column.name}, cdf")
    return True


def _points(column: Column) -> list[float]:
    assert column.scale is not None
    inside = np.linspace(column.scale.low, column.scale.high, 7) + 1e-3
    return (np.floor(inside) if column.kind == "count" else inside).tolist()  # type: ignore[no-any-return]


def near(found: Any, wanted: Any, unit: float, what: str) -> None:
    """Compare numbers, relative to their size or to a unit."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    apart = np.abs(found - wanted) / np.maximum(np.abs(wanted), unit)
    assert (apart <= CLOSE).all(), f"{what}: {found} instead of {wanted}"

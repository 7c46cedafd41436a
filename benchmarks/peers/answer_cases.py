"""Circuits and questions to other libraries whose answers are recorded for the tests.

Imported in the libraries' environments, so this file imports only NumPy, the standard library and
`speed_protocol`. It never imports spnc: nothing in a record may come from the code that it tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from speed_protocol import LEAF, PRODUCT, SUM, Circuit, Rows

NodeLink = dict[str, Any]
SEED = 17
# Circuits that are recorded already: binary with shared nodes, categorical, with impossible rows.
RECORDED = ("dag_binary_6", "tree_categorical_7", "impossible_categorical")
ROWS, EVIDENCE, BOUNDED = 16, 4, 8  # questions of each kind


@dataclass(frozen=True, eq=False)
class Case:
    """A circuit in node-link form, and the questions to it.

    Missing cells are NaN. `evidence` rows are partly known and possible; `targets` are the same
    rows without these cells and with all others. Bounds of NaN are none. `finite` columns have
    states, and the codes of `counted` columns are numbers that have a mean.
    """

    name: str
    about: str
    graph: NodeLink
    rows: Rows
    evidence: Rows
    targets: Rows
    low: Rows
    high: Rows

    @property
    def kinds(self) -> list[str]:
        """Return the types of the columns."""
        return list(self.graph["graph"]["variables"].values())

    @property
    def finite(self) -> list[int]:
        """Return the columns with states."""
        return [i for i, kind in enumerate(self.kinds) if kind not in ("real", "count")]

    @property
    def counted(self) -> list[int]:
        """Return the columns that have a mean."""
        return [i for i, kind in enumerate(self.kinds) if not kind.startswith("categorical")]

    @property
    def kept(self) -> list[int]:
        """Return the columns of the marginal that is asked for: every other one."""
        return list(range(0, len(self.kinds), 2))


def cases(records: Path) -> Iterator[Case]:
    """Yield all cases; `records` is the folder of SPFlow's recorded circuits."""
    for name in RECORDED:
        record = json.loads((records / f"{name}.json").read_text(encoding="utf-8"))
        inputs = np.array(record["inputs"], dtype=np.float64)  # None becomes NaN
        possible = np.array([value != "-inf" for value in record["log_likelihoods"]])
        complete = ~np.isnan(inputs).any(axis=1)
        about = f"The circuit of records/spflow/{name}.json."
        yield _case(name, about, record["circuit"], inputs[complete & possible], inputs[complete])
    for name, about, graph in (
        ("decisions_5", "Deterministic: every sum decides by a column.", decisions(5)),
        ("mixed_chain_5", "Gaussian, binary and categorical, shared nodes.", chain(MIXED)),
        ("number_chain_4", "Gaussian, Poisson, exponential and binary.", chain(NUMBERS)),
    ):
        rows = _random_rows(graph, np.random.default_rng([SEED, len(name)]), 4 * ROWS)
        yield _case(name, about, graph, rows, rows)


def _case(name: str, about: str, graph: NodeLink, possible: Rows, rows: Rows) -> Case:
    rng = np.random.default_rng([SEED, len(rows)])
    shares = np.linspace(0.0, 1.0, ROWS)[:, None]
    asked = rng.permutation(rows)[:ROWS]
    whole = rng.permutation(possible)[:EVIDENCE]
    known = rng.permuted(np.arange(rows.shape[1])[None].repeat(EVIDENCE, axis=0) % 2 == 0, axis=1)
    centres = rng.permutation(rows)[:BOUNDED]
    bounded = rng.random((2, *centres.shape)) < 0.6
    return Case(
        name,
        about,
        graph,
        np.where(rng.random(asked.shape) < shares, np.nan, asked),
        np.where(known, whole, np.nan),
        np.where(known, np.nan, whole),
        np.where(bounded[0], centres - 1.0, np.nan),
        np.where(bounded[1], centres + rng.integers(2, size=centres.shape), np.nan),
    )


# --- circuits

MIXED = ("gaussian", "bernoulli", "categorical", "gaussian", "bernoulli")
NUMBERS = ("gaussian", "poisson", "exponential", "bernoulli")
TYPES = {"bernoulli": "binary", "categorical": "categorical(3)", "poisson": "count"}


class _Sketch:
    """A circuit in node-link form that is being made, children first."""

    def __init__(self, kinds: Sequence[str]) -> None:
        variables = {f"x{i}": TYPES.get(kind, "real") for i, kind in enumerate(kinds)}
        self.graph: NodeLink = {
            "directed": True,
            "multigraph": False,
            "graph": {"variables": variables},
            "nodes": [],
            "edges": [],
        }

    def leaf(self, column: int, distribution: str, p: float | list[float]) -> str:
        about = {"variable": f"x{column}", "distribution": distribution, "p": p}
        return self._node("leaf", [], [], about)

    def product(self, children: Sequence[str]) -> str:
        return self._node("product", children, [], {})

    def sum(self, children: Sequence[str], weights: Sequence[float]) -> str:
        return self._node("sum", children, weights, {})

    def _node(
        self, kind: str, children: Sequence[str], weights: Sequence[float], about: NodeLink
    ) -> str:
        name = f"n{len(self.graph['nodes'])}"
        self.graph["nodes"].append({"id": name, "kind": kind, **about})
        for i, child in enumerate(children):
            weight = {"weight": weights[i]} if weights else {}
            self.graph["edges"].append({"source": name, "target": child, **weight})
        return name


def decisions(columns: int) -> NodeLink:
    """Return a random decision tree with independent columns below three decisions."""
    rng, sketch = np.random.default_rng([SEED, 1]), _Sketch(["bernoulli"] * columns)

    def below(rest: list[int]) -> list[str]:
        if len(rest) <= columns - 3:
            return [sketch.leaf(i, "bernoulli", _rounded(rng.uniform(0.1, 0.9))) for i in rest]
        column, *others = rng.permutation(rest).tolist()
        branches = [
            sketch.product([sketch.leaf(column, "bernoulli", float(state)), *below(others)])
            for state in (0, 1)
        ]
        share = _rounded(rng.uniform(0.2, 0.8))
        return [sketch.sum(branches, [share, 1.0 - share])]

    below(list(range(columns)))
    return sketch.graph


def chain(distributions: Sequence[str]) -> NodeLink:
    """Return a hidden Markov model of two states, with a column of each distribution."""
    rng, sketch = np.random.default_rng([SEED, 2]), _Sketch(distributions)
    later: list[str] = []
    for column, distribution in reversed(list(enumerate(distributions))):
        leaves = [
            sketch.leaf(column, distribution, _parameters(distribution, rng)) for _ in range(2)
        ]
        joined = (
            [sketch.product(pair) for pair in zip(leaves, later, strict=True)] if later else leaves
        )
        later = []
        for _ in range(2 if column else 1):
            share = _rounded(rng.uniform(0.1, 0.9))
            later.append(sketch.sum(joined, [share, 1.0 - share]))
    return sketch.graph


def _parameters(distribution: str, rng: np.random.Generator) -> float | list[float]:
    match distribution:
        case "bernoulli":
            return _rounded(rng.uniform(0.05, 0.95))
        case "categorical":
            first, second = _rounded(rng.uniform(0.1, 0.4)), _rounded(rng.uniform(0.1, 0.4))
            return [first, second, 1.0 - first - second]
        case "gaussian":
            return [_rounded(rng.normal(0.0, 3.0)), _rounded(rng.uniform(0.5, 2.0))]
        case _:  # the rate of a Poisson or an exponential leaf
            return [_rounded(rng.uniform(0.5, 4.0))]


def _rounded(value: float) -> float:
    return round(float(value), 4)


def _random_rows(graph: NodeLink, rng: np.random.Generator, count: int) -> Rows:
    """Return rows that every column's leaves may draw."""
    drawn: dict[str, Callable[[], Any]] = {
        "bernoulli": lambda: rng.integers(2, size=count),
        "categorical": lambda: rng.integers(3, size=count),
        "gaussian": lambda: rng.normal(0.0, 3.0, size=count).round(3),
        "poisson": lambda: rng.poisson(3.0, size=count),
        "exponential": lambda: rng.exponential(1.0, size=count).round(3),
    }
    names = list(graph["graph"]["variables"])
    of_column = {n["variable"]: n["distribution"] for n in graph["nodes"] if n["kind"] == "leaf"}
    return np.stack([drawn[of_column[name]]() for name in names], axis=1).astype(np.float64)


def flat_circuit(graph: NodeLink) -> Circuit:
    """Return a circuit in node-link form as the arrays that workers build circuits from."""
    below: dict[str, list[tuple[str, float]]] = {node["id"]: [] for node in graph["nodes"]}
    for edge in graph["edges"]:
        below[edge["source"]].append((edge["target"], edge.get("weight", 1.0)))
    order: dict[str, int] = {}

    def visit(name: str) -> None:
        for child, _ in below[name]:
            if child not in order:
                visit(child)
        order[name] = len(order)

    targets = {edge["target"] for edge in graph["edges"]}
    (root,) = (name for name in below if name not in targets)
    visit(root)
    payloads = {node["id"]: node for node in graph["nodes"]}
    nodes = [payloads[name] for name in order]
    columns = {name: i for i, name in enumerate(graph["graph"]["variables"])}
    own = [np.atleast_1d(node.get("p", [])) for node in nodes]
    edges = [edge for name in order for edge in below[name]]
    return {
        "kind": np.array([{"leaf": LEAF, "sum": SUM}.get(n["kind"], PRODUCT) for n in nodes]),
        "starts": np.cumsum([0, *(len(below[name]) for name in order)]),
        "children": np.array([order[child] for child, _ in edges]),
        "weights": np.array([weight for _, weight in edges]),
        "column": np.array([columns.get(node.get("variable", ""), -1) for node in nodes]),
        "distribution": np.array([node.get("distribution", "") for node in nodes]),
        "parameter_starts": np.cumsum([0, *map(len, own)]),
        "parameters": np.concatenate(own),
        "root": np.array(order[root]),
    }

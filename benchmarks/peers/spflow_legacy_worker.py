"""Evaluate circuits with SPFlow 0.0.48, check the values, and record them.

`benchmarks.record_spflow` runs this script in SPFlow's environment. It never imports spnc, so that
nothing in a record can come from the code that the record tests.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from spflow_legacy_cases import (  # beside this script
    BINARY,
    MISSING,
    Case,
    Rows,
    all_rows,
    cases,
    domain,
)
from spn.algorithms.Inference import log_likelihood
from spn.algorithms.Validity import is_valid
from spn.structure.Base import (
    Node,
    Product,
    Sum,
    assign_ids,
    get_nodes_by_type,
    rebuild_scopes_bottom_up,
)
from spn.structure.leaves.parametric.Parametric import Bernoulli

ENUMERABLE = 2**16  # circuits with at most this many complete rows are summed over all of them

# SPFlow writes the lowest double in place of minus infinity, at Bernoulli leaves and at products.
# Anything this low can only be that placeholder, whatever finite numbers were added to it since.
IMPOSSIBLE_BELOW = 0.5 * np.finfo(np.float64).min


def evaluate(root: Node, rows: Rows) -> Rows:
    # log(0) at categorical leaves and sums of placeholders overflow in SPFlow, both harmlessly.
    with np.errstate(divide="ignore", over="ignore"):
        values: Rows = log_likelihood(root, rows).reshape(-1)
    values = np.where(values < IMPOSSIBLE_BELOW, -np.inf, values)
    finite = values[np.isfinite(values)]
    if np.isnan(values).any() or (finite < -1e6).any() or (finite > 1e-9).any():
        raise AssertionError(f"not log-likelihoods: {values}")
    return values


def checked(case: Case, values: Rows) -> str:
    """Check the values against each other; return what was checked, in words."""
    total = math.prod(len(domain(k)) for k in case.states)
    nothing = evaluate(case.root, np.full((1, len(case.states)), MISSING))[0]
    if abs(nothing) > 1e-12:
        raise AssertionError(f"{case.name}: the row without values has {nothing}, not 0")
    if total > ENUMERABLE:
        return "Too large to sum over all rows; the row with nothing but missing values has 0."

    rows = all_rows(case.states)
    probabilities = np.exp(evaluate(case.root, rows))
    mass = math.fsum(probabilities)
    if abs(mass - 1.0) > 1e-12:
        raise AssertionError(f"{case.name}: SPFlow's values sum to {mass!r}, not to one")
    said = f"SPFlow's probabilities of all {total} rows sum to one (within 1e-12)."

    partial = np.isnan(case.inputs).any(axis=1)
    for row, value in zip(case.inputs[partial], values[partial], strict=True):
        seen = ~np.isnan(row)
        agreeing = (rows[:, seen] == row[seen]).all(axis=1)
        mass = math.fsum(probabilities[agreeing])
        if not math.isclose(mass, math.exp(value), rel_tol=1e-11, abs_tol=0.0):
            raise AssertionError(f"{case.name}: {row} has {value}, its completions {mass!r}")
    if partial.any():
        said += " Each row with missing values has the sum of its completions."
    return said


def node_link(root: Node, states: list[int]) -> dict[str, Any]:
    kinds = ["binary" if k == BINARY else f"categorical({k})" for k in states]
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for node in get_nodes_by_type(root):
        name = f"n{node.id}"
        if isinstance(node, (Sum, Product)):
            nodes.append({"id": name, "kind": "sum" if isinstance(node, Sum) else "product"})
            targets = [f"n{child.id}" for child in node.children]
            if len(set(targets)) != len(targets) or len(targets) < 2:
                raise AssertionError(f"{name} has one child, or one child twice: {targets}")
            for i, target in enumerate(targets):
                edge: dict[str, Any] = {"source": name, "target": target}
                if isinstance(node, Sum):
                    edge["weight"] = float(node.weights[i])
                edges.append(edge)
            if isinstance(node, Sum) and abs(math.fsum(node.weights) - 1.0) > 1e-14:
                raise AssertionError(f"{name} has weights {node.weights}")
        else:
            (column,) = node.scope
            binary = isinstance(node, Bernoulli)
            if not binary and abs(math.fsum(node.p) - 1.0) > 1e-14:
                raise AssertionError(f"{name} has p {node.p}")
            nodes.append(
                {
                    "id": name,
                    "kind": "leaf",
                    "variable": f"x{column}",
                    "distribution": "bernoulli" if binary else "categorical",
                    "p": float(node.p) if binary else [float(p) for p in node.p],
                }
            )
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"variables": {f"x{i}": kind for i, kind in enumerate(kinds)}},
        "nodes": nodes,
        "edges": edges,
    }


def record(case: Case) -> dict[str, Any]:
    rebuild_scopes_bottom_up(case.root)
    assign_ids(case.root)
    valid, error = is_valid(case.root)
    if not valid:
        raise AssertionError(f"{case.name}: {error}")
    values = evaluate(case.root, case.inputs)
    if case.name == "wide_200" and np.exp(values.min()) != 0.0:
        raise AssertionError("the probabilities of the wide circuit do not underflow")
    about = f"{case.about} {checked(case, values)}"
    if np.isinf(values).any():
        about += " SPFlow writes the lowest double for the log of 0; recorded as -inf."
    used = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {
        "about": about,
        "spflow": version("spflow"),
        "made_with": {"python": platform.python_version(), **used},
        "circuit": node_link(case.root, case.states),
        "inputs": [[None if np.isnan(v) else int(v) for v in row] for row in case.inputs],
        # `+ 0.0` makes -0.0 a plain 0.
        "log_likelihoods": ["-inf" if v == -np.inf else float(v) + 0.0 for v in values],
    }


def rendered(thing: Any, depth: int = 0) -> str:
    """JSON with one node, edge, row or value per line: small, and differences can be read."""
    if isinstance(thing, dict) and depth < 2:
        items = [f"{json.dumps(key)}: {rendered(value, depth + 1)}" for key, value in thing.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if isinstance(thing, list) and depth <= 2:
        items = [json.dumps(item, separators=(",", ":"), allow_nan=False) for item in thing]
        return "[\n" + ",\n".join(items) + "\n]"
    return json.dumps(thing, allow_nan=False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for case in cases():
        made = record(case)
        path = out / f"{case.name}.json"
        path.write_text(rendered(made) + "\n", encoding="utf-8")
        nodes, edges = len(made["circuit"]["nodes"]), len(made["circuit"]["edges"])
        size = path.stat().st_size
        print(f"{case.name}: {nodes} nodes, {edges} edges, {len(case.inputs)} rows, {size} bytes")


if __name__ == "__main__":
    main()

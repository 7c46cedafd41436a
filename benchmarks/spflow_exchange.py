"""Compare circuits in SPFlow 0.0.48 itself with their models in spnc, in both directions.

    python -m benchmarks.spflow_exchange [--circuits N]

SPFlow is taken from its own environment (`python -m benchmarks.record_spflow` makes it), whose
packages come after those of this one. Exits with 1 if log-likelihoods differ by more than 1e-9.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

import spnc
from benchmarks.common.markdown import table
from benchmarks.peers.catalogue import SPFLOW_LEGACY
from spnc.common.arrays import Floats
from spnc.model import Model
from spnc.testing.circuits import random_circuit, random_rows

TOLERANCE = 1e-9
SEED = 20240
LEARNED_ROWS = 600
# SPFlow writes the lowest double in place of minus infinity, and adds to it.
IMPOSSIBLE_BELOW = 0.5 * np.finfo(np.float64).min


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spflow_exchange")
    parser.add_argument("--circuits", type=int, default=20, help="random circuits (default: 20)")
    count = parser.parse_args(arguments).circuits
    sys.path.append(_packages())
    found = {
        f"{count} random circuits, missing cells": _random(count),
        "learned by SPFlow, parametric leaves": _learned(),
        "SPFlow's histograms": _histograms(),
    }
    print(f"SPFlow {SPFLOW_LEGACY.version} and spnc: largest difference of log-likelihoods\n")
    rows = [[name, f"{to:.1e}", f"{back:.1e}"] for name, (to, back) in found.items()]
    print(table(["circuits", "to SPFlow", "from SPFlow"], rows, left=1), end="")
    if max(map(max, found.values())) > TOLERANCE:
        raise SystemExit(1)


def _packages() -> str:
    """Return the folder of SPFlow's packages."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    command = [str(SPFLOW_LEGACY.python()), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _spflow_values(root: object, rows: Floats) -> Floats:
    from spn.algorithms.Inference import log_likelihood
    from spn.algorithms.Validity import is_valid

    valid, why = is_valid(root)
    if not valid:
        raise AssertionError(why)
    with np.errstate(divide="ignore", over="ignore"):  # log(0), and sums of placeholders
        found: Floats = log_likelihood(root, rows).reshape(-1)
    return np.where(found < IMPOSSIBLE_BELOW, -np.inf, found)


def _difference(one: Floats, other: Floats) -> float:
    """Return the largest difference; infinite if not the same rows are impossible."""
    possible = one > -np.inf
    if not np.array_equal(possible, other > -np.inf):
        return float("inf")
    return float(np.abs(one[possible] - other[possible]).max(initial=0.0))


def _both(model: Model, root: object, rows: Floats) -> tuple[float, float]:
    """Return how far SPFlow is from the model, and a model of SPFlow's objects from the same."""
    expected = model.log_likelihood(rows)
    back = spnc.from_spflow(root, model.columns).log_likelihood(rows)
    return _difference(_spflow_values(root, rows), expected), _difference(back, expected)


def _random(count: int) -> tuple[float, float]:
    worst = (0.0, 0.0)
    for seed in range(SEED, SEED + count):
        share = 0.4 if seed % 2 else 0.0
        model = spnc.from_networkx(random_circuit(seed, variables=6, share=share, numeric=0.4))
        rows = random_rows(seed, model.columns, 100, 0.3)
        to, back = _both(model, model.to_spflow(), rows)
        worst = max(worst[0], to), max(worst[1], back)
    return worst


def _learned() -> tuple[float, float]:
    """Learn with SPFlow on columns of every kind; compare without missing cells.

    SPFlow adds 1 to the log-likelihood of a row for every Gamma leaf over a missing cell.
    """
    from spn.algorithms.LearningWrappers import learn_parametric
    from spn.structure.Base import Context
    from spn.structure.leaves.parametric import Parametric

    rng = np.random.default_rng(SEED)
    group = rng.integers(2, size=LEARNED_ROWS)
    columns = [
        (rng.random(LEARNED_ROWS) < 0.2 + 0.6 * group, Parametric.Bernoulli),
        (rng.integers(3, size=LEARNED_ROWS) * (1 - group) + 2 * group, Parametric.Categorical),
        (rng.normal(5.0 * group, 1.0), Parametric.Gaussian),
        (rng.poisson(2.0 + 6.0 * group), Parametric.Poisson),
        (rng.gamma(2.0 + group, 3.0), Parametric.Gamma),
        (np.exp(rng.normal(group, 0.5)), Parametric.LogNormal),
        (rng.exponential(1.0 + 4.0 * group), Parametric.Exponential),
    ]
    data = np.stack([values for values, _ in columns], axis=1).astype(np.float64)
    context = Context(parametric_types=[kind for _, kind in columns]).add_domains(data)
    learned = learn_parametric(
        data, context, min_instances_slice=100, rand_gen=np.random.RandomState(17), cpus=1
    )
    model = spnc.from_spflow(learned)
    back = _difference(model.log_likelihood(data), _spflow_values(learned, data))
    to = _difference(_spflow_values(model.to_spflow(), data), _spflow_values(learned, data))
    return to, back


def _histograms() -> tuple[float, float]:
    """Compare histograms of reals and of whole numbers, which SPFlow learns without smoothing."""
    from spn.structure.Base import Context, Product, assign_ids, rebuild_scopes_bottom_up
    from spn.structure.leaves.histogram.Histograms import create_histogram_leaf
    from spn.structure.leaves.histogram.Inference import add_histogram_inference_support
    from spn.structure.StatisticalTypes import MetaType

    add_histogram_inference_support()
    rng = np.random.default_rng(SEED)
    data = np.stack([rng.normal(size=500), rng.integers(0, 6, size=500)], axis=1)
    context = Context(meta_types=[MetaType.REAL, MetaType.DISCRETE]).add_domains(data)
    leaves = [create_histogram_leaf(data[:, i : i + 1], context, [i], alpha=0.0) for i in range(2)]
    root = assign_ids(rebuild_scopes_bottom_up(Product(children=leaves)))
    model = spnc.from_spflow(root)
    # SPFlow gives 2e-16 to values in empty bins and beyond the edges, and on the last edge.
    rows = data[(data[:, 0] < data[:, 0].max())]
    return _both(model, model.to_spflow(), rows)[0], _difference(
        model.log_likelihood(rows), _spflow_values(root, rows)
    )


if __name__ == "__main__":
    main()

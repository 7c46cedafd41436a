"""Learn mixed SPNs by SPFlow 0.0.48 and measure densities; runs in SPFlow's environment.

    python spflow_legacy_tables_worker.py IN.npz OUT.json LEAVES SECONDS SLICE [SLICE …]

IN.npz has the rows of the splits, and what is known about columns: `is_real`, `states`, `low` and
`high`. For each SLICE, the least number of rows that is still divided, an SPN is learned; the one
under which the validation rows are most likely is measured on the test rows. No SPN is begun when
SECONDS have passed, and one that is then being learned is given up, unless it is the first.

LEAVES are `histogram`, `piecewise` or `parametric` (Gaussian and categorical). Histogram leaves
are repaired, as spflow_histograms.py says, and categorical leaves have a pseudo-row for every
state, as SPFlow's histograms have: as shipped, a state that a leaf has not seen is impossible.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from spflow_histograms import histogram_log_density, repaired_histogram  # beside this script
from spn.algorithms import LearningWrappers, StructureLearning
from spn.algorithms.Inference import add_node_likelihood, log_likelihood
from spn.structure.Base import Context, get_nodes_by_type
from spn.structure.leaves.histogram import Histograms
from spn.structure.leaves.histogram.Histograms import Histogram
from spn.structure.leaves.parametric.Parametric import (
    Categorical,
    Gaussian,
    create_parametric_leaf,
)
from spn.structure.leaves.piecewise import PiecewiseLinear
from spn.structure.StatisticalTypes import MetaType

SEED = 17  # SPFlow's own
# SPFlow writes the lowest double for the logarithm of 0.
IMPOSSIBLE_BELOW = 0.5 * np.finfo(np.float64).min


class TooLongError(Exception):
    """The time is over."""


class OneProcess:
    """Stands in for SPFlow's pool, whose processes do not know the repaired leaves."""

    @staticmethod
    def starmap(work: Any, arguments: Sequence[Any]) -> list[Any]:
        """Return the results of all calls."""
        return [work(*each) for each in arguments]


def histogram_leaf(
    data: Any, context: Any, scope: Any, alpha: float = 1.0, hist_source: str = "numpy"
) -> Histogram:
    """Return a histogram leaf that is a density, in place of SPFlow's."""
    del hist_source
    kind, domain = context.meta_types[scope[0]], context.domains[scope[0]]
    edges, dense, middles = repaired_histogram(
        data[:, 0], domain, kind == MetaType.REAL, float(alpha)
    )
    return Histogram(edges, dense, middles, scope=scope[0], meta_type=kind)


def histogram_values(node: Any, data: Any = None, dtype: Any = np.float64, **_: Any) -> Any:
    """Return the log densities of a histogram leaf."""
    found = histogram_log_density(
        np.asarray(node.breaks), np.asarray(node.densities), data[:, node.scope[0]]
    )
    return found.astype(dtype).reshape(-1, 1)


def parametric_leaf(data: Any, context: Any, scope: Any) -> Any:
    """Return a Gaussian as SPFlow has it, or a categorical leaf with pseudo-rows."""
    leaf = create_parametric_leaf(data, context, scope)
    if isinstance(leaf, Categorical):
        counts = np.bincount(data[:, 0].astype(np.int64), minlength=leaf.k) + 1.0
        leaf.p = (counts / counts.sum()).tolist()
    return leaf


def repair() -> None:
    """Put the repaired leaves in place of SPFlow's."""
    for module in (Histograms, PiecewiseLinear, StructureLearning, LearningWrappers):
        module.create_histogram_leaf = histogram_leaf
    StructureLearning.pool = OneProcess()
    add_node_likelihood(Histogram, log_lambda_func=histogram_values)


def context_of(given: dict[str, Any]) -> Context:
    """Return what SPFlow has to know about the columns."""
    kinds = [MetaType.REAL if real else MetaType.DISCRETE for real in given["is_real"]]
    context = Context(
        meta_types=kinds,
        parametric_types=[Gaussian if real else Categorical for real in given["is_real"]],
    )
    context.domains = [
        [low, high] if real else np.arange(states)
        for real, states, low, high in zip(
            given["is_real"], given["states"], given["low"], given["high"], strict=True
        )
    ]
    return context


def learned(given: dict[str, Any], leaves: str, rows: int) -> Any:
    """Return an SPN of the training rows."""
    train, context = given["train"], context_of(given)
    options = {"min_instances_slice": rows, "rand_gen": np.random.RandomState(SEED), "cpus": 1}
    if leaves == "parametric":
        return LearningWrappers.learn_parametric(train, context, leaves=parametric_leaf, **options)
    own = {"histogram": histogram_leaf, "piecewise": PiecewiseLinear.create_piecewise_leaf}[leaves]
    return LearningWrappers.learn_mspn(train, context, leaves=own, **options)


def mean_log_likelihood(spn: Any, rows: Any) -> float:
    """Return the average log-likelihood of rows."""
    with np.errstate(all="ignore"):
        values = log_likelihood(spn, rows)[:, 0]
    return float(np.where(values < IMPOSSIBLE_BELOW, -np.inf, values).mean())


def main() -> None:
    """Learn an SPN for each slice and write what the best one is worth."""
    source, target, leaves, limit, *slices = sys.argv[1:]
    with np.load(source) as arrays:
        given = dict(arrays.items())
    repair()
    warnings.simplefilter("ignore")  # that an iteration has not converged, for every two columns
    began, best = time.monotonic(), None
    signal.signal(signal.SIGALRM, _give_up)
    for number, rows in enumerate(map(int, slices)):
        left = float(limit) - (time.monotonic() - began)
        if number and left <= 1.0:
            break
        if number:
            signal.alarm(int(left))
        try:
            spn = learned(given, leaves, rows)
            valid = mean_log_likelihood(spn, given["valid"])
        except TooLongError:
            break
        finally:
            signal.alarm(0)
        if best is None or valid > best[0]:
            best = valid, rows, spn
    assert best is not None
    valid, rows, spn = best
    found = {
        "valid": valid,
        "test": mean_log_likelihood(spn, given["test"]),
        "plain": mean_log_likelihood(spn, given["plain"]),
        "choice": f"slices of {rows} rows",
        "nodes": len(get_nodes_by_type(spn)),
    }
    with open(target, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(found, file)


def _give_up(*_: Any) -> None:
    raise TooLongError


if __name__ == "__main__":
    main()

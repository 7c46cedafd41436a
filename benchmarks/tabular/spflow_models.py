"""Densities by SPFlow 0.0.48, in an environment of its own."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import Floats
from benchmarks.peers import environments
from benchmarks.peers.catalogue import SPFLOW_LEGACY

WORKER = Path(environments.__file__).parent / "spflow_legacy_tables_worker.py"
LEAVES = ("histogram", "piecewise", "parametric")
# The least numbers of rows that are still divided; large ones, which are fast, come first.
SLICES = (1000, 300, 100, 50, 25)
QUICK_SLICES = (100,)
SECONDS = 900.0  # after which no further number is tried
LEAST_ROWS = 50  # complete rows, to learn from them alone


def measured(table: DensityTable, leaves: str, *, quick: bool = False) -> dict[str, Any]:
    """Return the best SPN's average log-likelihoods of the validation and the test rows.

    SPFlow does not learn from missing cells. Where there are some, SPNs are learned from rows
    filled with the mean or the most frequent state of each column and, if there are enough, from
    the complete rows, and the best by the validation rows, whose missing cells are summed out,
    counts. Its k-means, which divides rows, does not standardise columns, so that one with large
    numbers decides alone. Both are tried, in the units of the table and of standard deviations.
    """
    train = table.dequantised["train"]
    complete = train[~np.isnan(train).any(axis=1)]
    ways = {"": train}
    if len(complete) < len(train):
        ways = {"filled rows, ": filled(table, train)}
        if len(complete) >= LEAST_ROWS:
            ways["complete rows, "] = complete
    found = []
    for way, rows in ways.items():
        own = replace(table, dequantised={**table.dequantised, "train": rows})
        units = np.where(table.is_real, rows.std(axis=0), 1.0)
        for scale, divisors in (("", np.ones(len(units))), ("standardised, ", units)):
            if scale and not table.is_real.any():
                continue
            result = _learned(_divided(own, divisors), leaves, quick=quick)
            for split in ("valid", "test", "plain"):
                judged = table.plain["test"] if split == "plain" else table.dequantised[split]
                known = ~np.isnan(judged)  # a missing cell has no density, and so no unit
                result[split] = round(result[split] - (known @ np.log(divisors)).mean(), 5)
            found.append({**result, "choice": way + scale + result["choice"]})
    best: dict[str, Any] = max(found, key=lambda each: each["valid"])
    return best


def _divided(table: DensityTable, divisors: Floats) -> DensityTable:
    """Return the table with its columns divided by these numbers."""
    return replace(
        table,
        resolution=table.resolution / divisors,
        low=table.low / divisors,
        high=table.high / divisors,
        plain={split: rows / divisors for split, rows in table.plain.items()},
        dequantised={split: rows / divisors for split, rows in table.dequantised.items()},
    )


def filled(table: DensityTable, rows: Floats) -> Floats:
    """Return rows with missing cells filled by the column's mean or most frequent state."""
    found = rows.copy()
    for place, real in enumerate(table.is_real.tolist()):
        cells = found[:, place]
        known = cells[~np.isnan(cells)]
        usual = known.mean() if real else np.bincount(known.astype(np.int64)).argmax()
        cells[np.isnan(cells)] = usual
    return found


def _learned(table: DensityTable, leaves: str, *, quick: bool) -> dict[str, Any]:
    """Learn SPNs of complete training rows by the worker; return what it has written."""
    rows = table.dequantised
    slices = [n for n in (QUICK_SLICES if quick else SLICES) if n < len(rows["train"])]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.json"
        arrays: dict[str, Any] = {
            **rows,
            "plain": table.plain["test"],
            "is_real": table.is_real,
            "states": table.states,
            "low": table.low,
            "high": table.high,
        }
        np.savez(source, **arrays)
        arguments = [str(source), str(target), leaves, str(SECONDS), *map(str, slices)]
        environments.run(SPFLOW_LEGACY.python(), WORKER, arguments)
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return found

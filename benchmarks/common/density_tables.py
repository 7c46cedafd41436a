"""The mixed tables as densities are measured on them: complete rows, plain and dequantised.

Real columns are rounded to a resolution, the smallest gap between two of their values, so that a
spike on a value that repeats could be as high as one likes. Dequantised, each real cell has uniform
noise of one resolution, and a spike of that width gains what the rounded value is worth as a
discrete outcome. The noise is that of the tables' documentation, so that figures can be compared.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.hidden_tables import Floats, read_table

SPLITS = ("train", "valid", "test")
NOISE_SEED = 0  # the noise is the same for every system
# The least resolution as a share of a column's range: a gap may be a rounding error.
LEAST_RESOLUTION = 1e-6


@dataclass(frozen=True, eq=False)
class DensityTable:
    """A table with its splits, `[row, column]`; codes of discrete columns count from 0.

    `resolution` is NaN for discrete columns, and `states` 0 for real ones. Both, and `low` and
    `high`, the ends of each column's range when dequantised, come from the rows of all splits.
    """

    name: str
    columns: tuple[str, ...]
    is_real: NDArray[np.bool_]
    resolution: Floats
    states: NDArray[np.int64]
    low: Floats
    high: Floats
    plain: dict[str, Floats]
    dequantised: dict[str, Floats]

    def real_only(self) -> DensityTable:
        """Return the table with its real columns alone."""
        own = self.is_real
        return replace(
            self,
            columns=tuple(np.array(self.columns)[own].tolist()),
            is_real=own[own],
            resolution=self.resolution[own],
            states=self.states[own],
            low=self.low[own],
            high=self.high[own],
            plain={split: rows[:, own] for split, rows in self.plain.items()},
            dequantised={split: rows[:, own] for split, rows in self.dequantised.items()},
        )

    def hiding(self, share: float, seed: int = 1) -> DensityTable:
        """Return the table with a share of the train and valid cells hidden, never a whole row."""
        rng = np.random.default_rng(seed)
        plain, dequantised = dict(self.plain), dict(self.dequantised)
        for split in ("train", "valid"):
            mask = rng.random(plain[split].shape) < share
            mask[mask.all(axis=1)] = False
            plain[split] = np.where(mask, np.nan, plain[split])
            dequantised[split] = np.where(mask, np.nan, dequantised[split])
        return replace(self, plain=plain, dequantised=dequantised)

    def data_options(self) -> dict[str, Any]:
        """Return the `columns` of a spec's `data`: resolutions, and the labels of all splits."""
        kinds: dict[str, Any] = {}
        for name, real, step, states in zip(
            self.columns,
            self.is_real.tolist(),
            self.resolution.tolist(),
            self.states.tolist(),
            strict=True,
        ):
            if real:
                kinds[name] = {"kind": "real", "resolution": step}
            else:
                kinds[name] = {"kind": "categorical", "labels": list(range(states))}
        return kinds

    def write(self, rows: Floats, file: Path) -> Path:
        """Write rows as CSV, empty where a cell is missing. Return the file."""
        with file.open("w", encoding="utf-8", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(self.columns)
            writer.writerows(
                ["" if np.isnan(c) else repr(c) if real else int(c) for c, real in cells]
                for cells in (zip(row, self.is_real, strict=True) for row in rows.tolist())
            )
        return file

    def frame(self, rows: Floats) -> dict[str, list[float | None]]:
        """Return rows as a dict of columns, None where a cell is missing."""
        return {
            name: [None if np.isnan(cell) else cell for cell in rows[:, place].tolist()]
            for place, name in enumerate(self.columns)
        }


def density_table(name: str) -> DensityTable:
    """Return a table by its name; rows with a missing cell are left out."""
    raw = read_table(name)
    rows = np.concatenate([raw.splits[split] for split in SPLITS])
    resolution = np.full(len(raw.columns), np.nan)
    states = np.zeros(len(raw.columns), np.int64)
    codes = dict(raw.splits)
    for place, real in enumerate(raw.is_real.tolist()):
        values = np.unique(rows[~np.isnan(rows[:, place]), place])
        if real:
            step = LEAST_RESOLUTION * (values[-1] - values[0])
            resolution[place] = max(np.diff(values).min(), step)
        else:
            states[place] = len(values)
            codes = {split: _ranked(own, place, values) for split, own in codes.items()}
    dequantised = _dequantised(codes, resolution)
    complete = {split: ~np.isnan(codes[split]).any(axis=1) for split in SPLITS}
    kept = {split: dequantised[split][complete[split]] for split in SPLITS}
    whole = np.concatenate(list(kept.values()))
    return DensityTable(
        name,
        raw.columns,
        raw.is_real,
        resolution,
        states,
        whole.min(axis=0),
        whole.max(axis=0),
        {split: codes[split][complete[split]] for split in SPLITS},
        kept,
    )


def _ranked(rows: Floats, place: int, values: Floats) -> Floats:
    """Return rows with a column's values replaced by their ranks."""
    found = rows.copy()
    known = ~np.isnan(found[:, place])
    found[known, place] = np.searchsorted(values, found[known, place])
    return found


def _dequantised(splits: Mapping[str, Floats], resolution: Floats) -> dict[str, Floats]:
    """Return splits with noise on real columns, drawn split by split and column by column."""
    rng = np.random.default_rng(NOISE_SEED)
    found = {}
    for split in SPLITS:
        rows = splits[split].copy()
        for place in np.flatnonzero(~np.isnan(resolution)).tolist():
            half = resolution[place] / 2
            rows[:, place] += rng.uniform(-half, half, len(rows))
        found[split] = rows
    return found

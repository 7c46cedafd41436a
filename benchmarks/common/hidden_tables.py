"""The mixed tables of `$SPNC_DATA/tables`, with cells hidden, and how answers are scored."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIDDEN = 0.2  # the share of cells that are hidden
CLIP = 1e-6  # the least probability of a label that a log-loss counts
# The column that is predicted in each table.
TARGETS = {
    "abalone": "discrete0",
    "adult": "discrete8",
    "australian": "discrete7",
    "breast": "discrete9",
    "chess": "discrete1",
    "german": "discrete14",
    "student": "discrete6",
    "wine": "discrete11",
}

Floats = NDArray[np.float64]


def folder() -> Path:
    """Return the folder of the tables."""
    return Path(os.environ.get("SPNC_DATA", "data")) / "tables"


@dataclass(frozen=True, eq=False)
class MixedTable:
    """A table with its splits, `[row, column]`, NaN where a cell is missing."""

    name: str
    columns: tuple[str, ...]
    is_real: NDArray[np.bool_]
    splits: dict[str, Floats]

    @property
    def target(self) -> int:
        """The column that is predicted."""
        return self.columns.index(TARGETS[self.name])

    def labels(self, column: int) -> Floats:
        """Return the values of a discrete column in all splits, in increasing order."""
        cells = np.concatenate([rows[:, column] for rows in self.splits.values()])
        return np.unique(cells[~np.isnan(cells)])

    def data_options(self) -> dict[str, Any]:
        """Return the `data` of a spec that trains on the table."""
        files = {split: str(folder() / f"{self.name}.{split}.csv") for split in self.splits}
        kinds = {
            name: "real" if real else "categorical"
            for name, real in zip(self.columns, self.is_real.tolist(), strict=True)
        }
        return {**files, "columns": kinds}


def read_table(name: str) -> MixedTable:
    """Return a table by its name."""
    types = json.loads((folder() / "types.json").read_text(encoding="utf-8"))[name]
    splits = {}
    for split in ("train", "valid", "test"):
        with (folder() / f"{name}.{split}.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        cells = [[float(cell) if cell.strip() else np.nan for cell in row] for row in rows]
        splits[split] = np.array(cells)
    real = np.array([types[column] == "real" for column in head])
    return MixedTable(name, tuple(head), real, splits)


def hidden(values: Floats) -> NDArray[np.bool_]:
    """Return which cells are hidden; never those of a whole row."""
    mask = np.random.default_rng(1).random(values.shape) < HIDDEN
    mask[mask.all(axis=1)] = False
    return mask


def imputation_scores(
    table: MixedTable, split: str, mask: NDArray[np.bool_], filled: Floats
) -> tuple[float, float]:
    """Return the error of real columns and the accuracy of discrete ones; NaN without any.

    The error is the root mean squared one by column, divided by the standard deviation of the
    column's training cells; both are means over columns.
    """
    truth, train = table.splits[split], table.splits["train"]
    errors, rights = [], []
    for i, real in enumerate(table.is_real.tolist()):
        asked = mask[:, i] & ~np.isnan(truth[:, i])
        if not asked.any():
            continue
        own, wanted = filled[asked, i], truth[asked, i]
        if real:
            errors.append(np.sqrt(((own - wanted) ** 2).mean()) / np.nanstd(train[:, i]))
        else:
            rights.append((own == wanted).mean())
    return _mean(errors), _mean(rights)


def log_loss(table: MixedTable, split: str, chances: Floats) -> float:
    """Return the mean log-loss of the target, for `chances[row, label]`."""
    truth = table.splits[split][:, table.target]
    known = ~np.isnan(truth)
    at = np.searchsorted(table.labels(table.target), truth[known])
    return float(-np.log(np.clip(chances[known, at], CLIP, 1.0)).mean())


def _mean(numbers: list[float]) -> float:
    return float(np.mean(numbers)) if numbers else float("nan")

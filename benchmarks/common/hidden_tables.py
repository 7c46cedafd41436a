"""The mixed tables of `$SPNC_DATA/tables`, with cells hidden, and how answers are scored."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
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

# The best figures of scikit-learn's imputers and classifiers that are listed beside the tables:
# imputation (error, accuracy), and log-loss of the target (complete rows, cells hidden).
LISTED_IMPUTATION: dict[str, tuple[float | None, float]] = {
    "abalone": (0.480, 0.425),
    "adult": (1.073, 0.644),
    "australian": (0.707, 0.657),
    "breast": (0.486, 0.541),
    "chess": (None, 0.325),
    "german": (0.534, 0.551),
    "student": (None, 0.445),
    "wine": (0.605, 0.642),
}
LISTED_PREDICTION: dict[str, tuple[float, float]] = {
    "abalone": (0.855, 0.930),
    "adult": (0.434, 0.478),
    "australian": (0.207, 0.292),
    "breast": (0.673, 0.686),
    "chess": (0.531, 0.738),
    "german": (0.478, 0.554),
    "student": (0.679, 0.738),
    "wine": (0.808, 0.961),
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

    def data_options(self, files: Mapping[str, Path]) -> dict[str, Any]:
        """Return the `data` of a spec that trains on files with rows of the table, by split."""
        kinds = {
            name: "real" if real else "categorical"
            for name, real in zip(self.columns, self.is_real.tolist(), strict=True)
        }
        return {**{split: str(path) for split, path in files.items()}, "columns": kinds}

    def with_splits(self, **splits: Floats) -> MixedTable:
        """Return the table with other splits."""
        return replace(self, splits=splits)

    def write(self, into: Path) -> dict[str, Path]:
        """Write every split into a folder. Return the files."""
        files = {}
        for split, rows in self.splits.items():
            files[split] = into / f"{self.name}.{split}.csv"
            with files[split].open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(self.columns)
                writer.writerows(
                    ["" if np.isnan(c) else repr(c) if real else int(c) for c, real in cells]
                    for cells in (zip(row, self.is_real, strict=True) for row in rows.tolist())
                )
        return files


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


def hidden(values: Floats, seed: int = 1) -> NDArray[np.bool_]:
    """Return which cells are hidden; never those of a whole row."""
    mask = np.random.default_rng(seed).random(values.shape) < HIDDEN
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


def folds(table: MixedTable, count: int, seed: int = 0) -> list[MixedTable]:
    """Return the rows of train and valid in other splits, so that each row is once in `test`.

    A tenth of the other rows is `valid`. The table's own test rows are not used.
    """
    rows = np.concatenate([table.splits["train"], table.splits["valid"]])
    order = np.random.default_rng(seed).permutation(len(rows))
    found = []
    for i in range(count):
        rest = np.delete(order, np.s_[i::count])
        cut = len(rest) // 10
        found.append(
            table.with_splits(
                train=rows[rest[cut:]], valid=rows[rest[:cut]], test=rows[order[i::count]]
            )
        )
    return found


def _mean(numbers: list[float]) -> float:
    return float(np.mean(numbers)) if numbers else float("nan")

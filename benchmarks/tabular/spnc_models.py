"""Models of spnc on a table: one recipe for all tables, and `spnc train --auto`.

Models are trained on plain rows with the tables' resolutions, which bound how narrow leaves become,
and may be trained on dequantised rows to compare. Both are densities for plain and for dequantised
rows: a point is a box of one resolution. The bound does not hold for log-normal and gamma leaves
between 0 and one resolution (docs/leaves.md), where some tables have 1e-06 in place of 0; figures
of plain and of dequantised rows are then far apart.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import spnc
from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import Floats
from benchmarks.common.trainings import ROOT
from spnc.model import Model

RECIPE = ROOT / "specs" / "best" / "table.yaml"
BUDGET = "1min"  # of `spnc train --auto`
OWN_DATA = ("model", "data", "seed")  # parts of a spec that the benchmark sets


def recipe() -> dict[str, Any]:
    """Return the recipe without its name, data and seed."""
    spec = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    return {key: value for key, value in spec.items() if key not in OWN_DATA}


def fingerprint() -> str:
    """Return a hash of the recipe: figures of another recipe are measured again."""
    text = json.dumps(recipe(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def trained(table: DensityTable, seed: int = 0, *, rows: str = "plain") -> Model:
    """Return a model trained by the recipe on the plain or the dequantised rows of a table."""
    with tempfile.TemporaryDirectory() as folder:
        files = _written(table, rows, Path(folder))
        data: dict[str, Any] = {split: str(file) for split, file in files.items()}
        spec = {
            **recipe(),
            "model": table.name,
            "data": {**data, "columns": table.data_options()},
            "seed": seed,
        }
        return spnc.train(spec).model


def found_by_auto(
    table: DensityTable, seed: int = 0, *, rows: str = "plain", budget: str = BUDGET
) -> tuple[Model, str]:
    """Return the model that `spnc train --auto` finds within a budget, and its learners."""
    with tempfile.TemporaryDirectory() as folder:
        files = _written(table, rows, Path(folder))
        settings = [
            f"data.valid={files['valid']}",
            f"data.columns={json.dumps(table.data_options())}",
            f"seed={seed}",
        ]
        found = spnc.train_auto(str(files["train"]), budget, settings)
    learners = [entry.learner.plugin_name for entry in found.recipe.forest]
    return found.model, ", ".join(dict.fromkeys(learners))


def log_density(model: Model, table: DensityTable, rows: Floats) -> Floats:
    """Return the log density of rows; refuse a model that left out a column."""
    missing = set(table.columns) - {column.name for column in model.columns}
    if missing:
        raise ValueError(f"the model of {table.name} has no column {', '.join(sorted(missing))}")
    return model.log_likelihood(table.frame(rows))


def sampled(model: Model, table: DensityTable, rows: int, seed: int) -> Floats:
    """Return rows drawn from a model in the order of the table's columns; numbers as drawn."""
    drawn = model.sample(rows, seed, columns=list(table.columns))
    return np.asarray(drawn.cells, np.float64)


def _written(table: DensityTable, rows: str, folder: Path) -> Mapping[str, Path]:
    """Write the training and validation rows. Return the files."""
    splits = table.plain if rows == "plain" else table.dequantised
    return {s: table.write(splits[s], folder / f"{s}.csv") for s in ("train", "valid")}

"""What sampled rows are worth: for training a classifier, and against one that detects them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import TARGETS, Floats
from benchmarks.tabular.spnc_models import sampled
from spnc.model import Model

ROWS = 10_000  # sampled to train a classifier
FOLDS = 5
_MAKERS = {
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(500, random_state=0, n_jobs=1),
}


def measured(model: Model, table: DensityTable, seed: int = 0) -> dict[str, Any]:
    """Return accuracies of a classifier by its training rows, and how well a detector does."""
    drawn = sampled(model, table, ROWS, seed)
    real = np.concatenate(list(table.plain.values()))
    as_many = sampled(model, table, len(real), seed + 1)
    return {
        **classified(table, drawn),
        "auc rounded": detected(on_grid(table, real), on_grid(table, as_many)),
        "auc as sampled": detected(real, as_many),
    }


def classified(table: DensityTable, drawn: Floats) -> dict[str, Any]:
    """Return a classifier's accuracy on test rows, trained on real rows and on sampled ones.

    The classifier is the better one of two by the validation rows when trained on real rows.
    """
    train, valid, test = (table.plain[split] for split in ("train", "valid", "test"))
    fits = {name: _fitted(table, name, train) for name in _MAKERS}
    name = max(fits, key=lambda each: _accuracy(table, fits[each], valid))
    real = _accuracy(table, fits[name], test)
    made = _accuracy(table, _fitted(table, name, drawn), test)
    return {
        "choice": name,
        "accuracy real": round(real, 5),
        "accuracy sampled": round(made, 5),
        "ratio": round(made / real, 5),
    }


def detected(real: Floats, made: Floats) -> float:
    """Return the area under the ROC curve of a classifier of real and sampled rows, by folds."""
    rows = np.concatenate([real, made])
    labels = np.repeat([0, 1], [len(real), len(made)])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    detector = HistGradientBoostingClassifier(random_state=0)
    chances = cross_val_predict(detector, rows, labels, cv=folds, method="predict_proba")
    return round(float(roc_auc_score(labels, chances[:, 1])), 5)


def on_grid(table: DensityTable, rows: Floats) -> Floats:
    """Return rows with each real cell as the number of resolutions from the column's least value.

    Whole numbers, so that not even the last bits of a rounded value tell where a row comes from.
    """
    found = rows.copy()
    for place in np.flatnonzero(table.is_real).tolist():
        least = min(float(own[:, place].min()) for own in table.plain.values())
        found[:, place] = np.round((rows[:, place] - least) / table.resolution[place])
    return found


def _target(table: DensityTable) -> int:
    return table.columns.index(TARGETS[table.name])


def _fitted(table: DensityTable, name: str, rows: Floats) -> Any:
    target = _target(table)
    classes: NDArray[np.int64] = rows[:, target].astype(np.int64)
    return _MAKERS[name]().fit(np.delete(rows, target, axis=1), classes)


def _accuracy(table: DensityTable, classifier: Any, rows: Floats) -> float:
    target = _target(table)
    return float(classifier.score(np.delete(rows, target, axis=1), rows[:, target].astype(int)))

"""The estimators for scikit-learn: its own checks, frames, and copies after use."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from spnc.common.workers import SERIAL
from spnc.model import to_bytes
from spnc.sklearn import SpncAnomaly, SpncClassifier, SpncDensity, SpncImputer

ALL = (SpncDensity, SpncAnomaly, SpncImputer, SpncClassifier)


@pytest.mark.parametrize("kind", ALL)
def test_the_checks_of_scikit_learn_pass(kind: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checks that are skipped, and of casts inside them
        found = check_estimator(kind(max_iterations=10, states=4), on_fail=None, on_skip=None)
    failed = {f["check_name"]: f["exception"] for f in found if f["status"] == "failed"}
    assert failed == {}
    assert sum(f["status"] == "passed" for f in found) > 30


def iris() -> tuple[pd.DataFrame, Any]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.set_axis(["sl", "sw", "pl", "pw"], axis=1)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"})


@pytest.mark.parametrize("kind", ALL)
def test_copies_answer_the_same_after_use(kind: Any) -> None:
    X, y = iris()
    fitted = kind(max_iterations=5).fit(X, y)
    ask = {
        SpncDensity: "score_samples",
        SpncAnomaly: "decision_function",
        SpncImputer: "transform",
        SpncClassifier: "predict_proba",
    }[kind]
    X.iloc[::4, 1] = np.nan
    expected = np.asarray(getattr(fitted, ask)(X))
    buffer = io.BytesIO()
    joblib.dump(fitted, buffer)
    buffer.seek(0)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), joblib.load(buffer)):
        assert np.array_equal(np.asarray(getattr(other, ask)(X)), expected)
    again = clone(fitted).fit(*iris())
    assert np.array_equal(np.asarray(getattr(again, ask)(X)), expected)


def test_a_classifier_knows_iris_also_with_missing_cells() -> None:
    X, y = iris()
    rows = np.random.default_rng(0).random(X.shape) < 0.2
    holes = X.mask(rows)
    fitted = SpncClassifier(max_iterations=20).fit(holes[::2], y[::2])
    chances = fitted.predict_proba(holes[1::2])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert fitted.score(holes[1::2], y[1::2]) > 0.85
    assert fitted.score(X[1::2], y[1::2]) > 0.9
    assert list(fitted.classes_) == ["setosa", "versicolor", "virginica"]


def test_frames_with_words_are_features_as_they_are() -> None:
    X, y = iris()
    table = pl.DataFrame({"species": y.to_list(), "pl": X["pl"].to_list(), "class": X["sw"] > 3})
    wide = (X["pw"] > 1).to_numpy()
    fitted = SpncClassifier(max_iterations=10).fit(table, wide)
    assert fitted.score(table, wide) > 0.9
    filled = (
        SpncImputer(max_iterations=10)
        .fit(table)
        .transform(pl.DataFrame({"species": [None], "pl": [1.4], "class": [True]}))
    )
    assert filled["species"].to_list() == ["setosa"]
    drawn = SpncDensity(max_iterations=5).fit(table).sample(4, random_state=1)
    assert set(drawn["species"]) <= set(y)


def test_estimators_work_in_pipelines_and_searches() -> None:
    X, y = iris()
    pipeline = make_pipeline(SpncImputer(max_iterations=5), StandardScaler(), SpncClassifier())
    pipeline.set_params(spncclassifier__max_iterations=5)
    grid = {"spncclassifier__states": [2, 4]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X.to_numpy(), y)
    assert search.best_score_ > 0.8
    density = GridSearchCV(SpncDensity(max_iterations=5), {"states": [1, 4]}, cv=2)
    density.fit(X.sample(frac=1.0, random_state=0))  # rows come sorted by species
    assert density.best_params_ == {"states": 4}


def test_odd_rows_are_found_and_have_small_p_values() -> None:
    X, _ = iris()
    fitted = SpncAnomaly(contamination=0.05, max_iterations=10).fit(X)
    assert (fitted.predict(X) == -1).mean() == pytest.approx(0.05, abs=0.02)
    odd = pd.DataFrame({"sl": [5.0, 5.0], "sw": [3.4, 9.0], "pl": [1.5, 6.0], "pw": [0.2, 0.1]})
    assert fitted.predict(odd).tolist() == [1, -1]
    usual, rare = fitted.p_values(odd)
    assert usual > 0.05
    assert rare < 0.01


def test_filled_numbers_are_near_the_hidden_ones() -> None:
    X, _ = iris()
    hidden = X.to_numpy().copy()
    hidden[::3, 2] = np.nan
    filled = SpncImputer(max_iterations=20).fit(hidden).transform(hidden)
    apart = filled[::3, 2] - X.to_numpy()[::3, 2]
    assert np.sqrt((apart**2).mean()) < 0.4 * X["pl"].std()
    kept = ~np.isnan(hidden)
    assert np.array_equal(filled[kept], hidden[kept])


def test_what_a_model_refuses_is_a_value_error() -> None:
    X, y = iris()
    fitted = SpncDensity(max_iterations=2).fit(pd.DataFrame({"species": y, "pl": X["pl"]}))
    with pytest.raises(ValueError, match="rose"):
        fitted.score_samples(pd.DataFrame({"species": ["rose"], "pl": [1.0]}))
    with pytest.raises(ValueError, match="learn"):
        SpncDensity(forest=[{"learner": "learn"}]).fit(X)


def test_folds_are_scored_in_processes_of_scikit_learn() -> None:
    X, y = iris()
    model = SpncClassifier(states=3, max_iterations=5)
    alone = cross_val_score(model, X, y, cv=3)
    assert np.array_equal(cross_val_score(model, X, y, cv=3, n_jobs=2), alone)
    searched = GridSearchCV(SpncDensity(max_iterations=3), {"states": [2, 4]}, cv=2, n_jobs=2)
    assert searched.fit(X).best_params_["states"] in (2, 4)


@pytest.mark.parametrize("kind", ALL)
def test_jobs_give_the_same_model(kind: Any) -> None:
    X, y = iris()
    forest = [{"learner": "extra-spn", "count": 3, "min_instances": 40}]
    fitted = [kind(forest=forest, max_iterations=2, n_jobs=n).fit(X, y) for n in (None, 2)]
    assert to_bytes(fitted[0].model_) == to_bytes(fitted[1].model_)


def test_what_joblib_is_told_holds_for_components_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `n_jobs`, as in scikit-learn."""
    asked = []
    monkeypatch.setattr(
        "spnc.cluster.joblib_workers.JoblibWorkers.map",
        lambda self, work, items: asked.append(self.count) or SERIAL.map(work, items),
    )
    X, _ = iris()
    estimator = SpncDensity(forest=[{"learner": "extra-spn", "count": 2}], max_iterations=1)
    estimator.fit(X)
    with joblib.parallel_config(n_jobs=2):
        estimator.fit(X)
    assert asked == [2]

"""Ask a library the questions of `answer_cases`, and write its answers as records.

Imported in the libraries' environments, so this file imports only NumPy, the standard library and
the files beside it. A library that cannot answer a question says why; the record keeps that, too.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from answer_cases import Case, cases, flat_circuit
from speed_protocol import Circuit, Rows, UnableError

DRAWS = 4_000  # rows that are drawn for each question


class Answerer(Protocol):
    """A library that holds one circuit. A question that it has no method for is not asked."""

    peer: str
    version: str
    packages: Sequence[str]  # whose versions a record keeps
    # Why the answers to a question are wrong, by "case question" or by "question" for all cases.
    wrong: Mapping[str, str]

    def build(self, circuit: Circuit, columns: int) -> None:
        """Take a circuit."""
        ...

    def log_likelihoods(self, rows: Rows) -> Any:
        """Return log p of rows; missing cells are summed out."""
        ...


def questions(case: Case) -> dict[str, dict[str, Any]]:
    """Return the arguments of every question, by the name of the method that answers it."""
    nothing = np.full((1, len(case.kinds)), np.nan)
    some = np.vstack([nothing, case.evidence])
    finite = case.finite
    incomplete = case.rows[np.isnan(case.rows).any(axis=1)]
    unknown = [i for i in case.counted if np.isnan(case.evidence[0, i])]
    asked = {
        "log_likelihoods": {"rows": case.rows},
        "marginals": {"columns": case.kept, "rows": case.rows[:, case.kept]},
        "conditionals": {"evidence": case.evidence, "rows": case.targets},
        "completions": {"rows": incomplete},
        "means": {"columns": case.counted},
        "conditional_means": {"evidence": case.evidence[:1], "columns": unknown},
        "entropies": {"columns": [[finite[0]], finite[:2], finite]},
        "informations": {
            "columns": [[finite[:1], finite[1:2]], [finite[:1], finite[1:]]] if finite[1:] else []
        },
        "intervals": {"low": case.low, "high": case.high},
        "draws": {"evidence": some[:1], "count": DRAWS},
        "conditional_draws": {"evidence": some[1:2], "count": DRAWS},
        "log_square": {},
    }
    return {name: given for name, given in asked.items() if given.get("columns", [0])}


def record(case: Case, answerer: Answerer) -> dict[str, Any]:
    """Return the record of a case."""
    answerer.build(flat_circuit(case.graph), len(case.kinds))
    answers: dict[str, Any] = {}
    unable: dict[str, str] = {}
    wrong: dict[str, str] = {}
    for name, given in questions(case).items():
        work = getattr(answerer, name, None)
        if work is None:
            unable[name] = "it has no such question"
            continue
        try:
            found = work(**given)
        except UnableError as error:
            unable[name] = str(error)
            continue
        except Exception as error:
            unable[name] = f"it fails: {type(error).__name__} {error}".splitlines()[0]
            continue
        if name.endswith("draws"):
            answers[name] = {**_plain_all(given), **_summary(found)}
        else:
            answers[name] = {**_plain_all(given), "values": _plain(found)}
        reason = answerer.wrong.get(f"{case.name} {name}", answerer.wrong.get(name))
        if reason is not None:
            wrong[name] = reason
    return {
        "about": case.about,
        "peer": answerer.peer,
        "version": answerer.version,
        "made_with": {
            "python": platform.python_version(),
            **{name: version(name) for name in answerer.packages},
        },
        "circuit": case.graph,
        "answers": answers,
        "unable": unable,
        "wrong": wrong,
    }


def _summary(rows: Rows) -> dict[str, Any]:
    """Return means of the columns and of products of two columns, and their standard errors."""
    first, second = np.triu_indices(rows.shape[1], k=1)
    values = np.hstack([rows, rows[:, first] * rows[:, second]])
    errors = values.std(axis=0) / np.sqrt(len(values))
    return {"means": _plain(values.mean(axis=0).round(9)), "errors": _plain(errors.round(9))}


def _plain_all(given: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in given.items()}


def _plain(value: Any) -> Any:
    """Return an array as lists: None for NaN, a text for infinity, whole numbers as such."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        if np.isnan(value):
            return None
        if np.isinf(value):
            return "-inf" if value < 0 else "inf"
        return int(value) if value.is_integer() else value
    return value


def rendered(thing: Any, depth: int = 0) -> str:
    """Return JSON with one node, edge or answer per line."""
    if isinstance(thing, dict) and depth < 3 and thing:
        items = [f"{json.dumps(key)}: {rendered(value, depth + 1)}" for key, value in thing.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if isinstance(thing, list) and depth == 2:
        items = [json.dumps(item, separators=(",", ":"), allow_nan=False) for item in thing]
        return "[\n" + ",\n".join(items) + "\n]"
    return json.dumps(thing, separators=(",", ":"), allow_nan=False)


def write_records(answerer: Answerer) -> None:
    """Write the records of all cases whose leaves the library has: the command of a worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--circuits", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for case in cases(options.circuits):
        try:
            made = record(case, answerer)
        except UnableError as error:
            print(f"{case.name}: left out, {error}")
            continue
        (options.out / f"{case.name}.json").write_text(rendered(made) + "\n", encoding="utf-8")
        print(f"{case.name}: {', '.join(made['answers'])}")
        for name, why in made["unable"].items():
            print(f"  no {name}: {why}")

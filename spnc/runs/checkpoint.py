"""Checkpoints: the state of training as a safetensors file with a checksum of itself."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.sealed import Tensors, read_sealed_arrays, sealed_arrays
from spnc.data.dataset import Dataset
from spnc.program.program import Parameters, Program
from spnc.runs.lock import recipe_text
from spnc.spec.recipe import Recipe
from spnc.training import FitResult, Record, State

FORMAT = "spnc-checkpoint"


def fingerprint(recipe: Recipe, dataset: Dataset, program: Program, parameters: Parameters) -> str:
    """Return a digest of what a checkpoint belongs to: recipe, data, circuit, first parameters."""
    sha = hashlib.sha256(dataset.digest.encode())
    sha.update(recipe_text(recipe).encode())
    for segment in program.segments:
        sha.update(f"{segment.is_sum} {segment.first} {segment.last}".encode())
        sha.update(segment.starts.tobytes() + segment.children.tobytes())
    sha.update(parameters.weights.tobytes())
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        sha.update(leaf.distribution.encode() + leaf.variables.tobytes() + table.tobytes())
    return sha.hexdigest()


def state_bytes(state: State, fingerprint: str) -> bytes:
    """Return the content of a checkpoint; `fingerprint` says which run it belongs to."""
    tensors = {
        **_arrays("", state.parameters),
        **_arrays("best.", state.best),
        **{f"memory.{name}": np.ascontiguousarray(a) for name, a in state.memory.items()},
    }
    about: dict[str, Any] = {
        "fingerprint": fingerprint,
        "best_iteration": state.best_iteration,
        "history": _rows(state.history),
    }
    if state.earlier:
        about["earlier"] = []
    for number, fitted in enumerate(state.earlier):
        tensors |= _arrays(f"earlier.{number}.", fitted.parameters)
        about["earlier"].append(
            {
                "history": _rows(fitted.history),
                "stopped": fitted.stopped,
                "kept": fitted.kept,
                "kept_iteration": fitted.kept_iteration,
            }
        )
    return sealed_arrays(FORMAT, about, tensors)


def read_state(path: Path, fingerprint: str, like: Parameters) -> State | None:
    """Return the state in a file; None if it belongs to another run.

    Its arrays must have the shapes of `like`, the parameters that training began with. Those of a
    fit after another have shapes of their own, and memories are the optimiser's: both are checked
    when training continues, as are the values of all parameters. Raises OSError, LookupError,
    TypeError or ValueError for other files.
    """
    about, tensors = read_sealed_arrays(FORMAT, path.read_bytes())
    if about["fingerprint"] != fingerprint:
        return None
    earlier = []
    for number, fit in enumerate(about.get("earlier", [])):
        history, kept = _history(fit["history"], fit["kept_iteration"])
        found = _parameters(f"earlier.{number}.", tensors, like if number == 0 else None)
        earlier.append(FitResult(found, history, str(fit["stopped"]), str(fit["kept"]), kept))
    shaped = None if earlier else like
    history, best = _history(about["history"], about["best_iteration"])
    return State(
        _parameters("", tensors, shaped),
        _parameters("best.", tensors, shaped),
        best,
        history,
        {n.removeprefix("memory."): a for n, a in tensors.items() if n.startswith("memory.")},
        tuple(earlier),
    )


def _arrays(prefix: str, parameters: Parameters) -> dict[str, Floats]:
    tables = {f"{prefix}tables.{i}": t for i, t in enumerate(parameters.tables)}
    arrays = {f"{prefix}weights": parameters.weights, **tables}
    return {name: np.ascontiguousarray(a) for name, a in arrays.items()}


def _parameters(prefix: str, tensors: Tensors, like: Parameters | None) -> Parameters:
    count = sum(name.startswith(f"{prefix}tables.") for name in tensors)
    tables = tuple(tensors[f"{prefix}tables.{i}"] for i in range(count))
    found = Parameters(tensors[f"{prefix}weights"], tables)
    if like is not None:
        pairs = [(found.weights, like.weights), *zip(tables, like.tables, strict=True)]
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
            raise ValueError("its arrays do not have the shape of the circuit's parameters")
    return found


def _rows(history: tuple[Record, ...]) -> list[list[Any]]:
    return [[getattr(r, f.name) for f in fields(Record)] for r in history]


def _history(rows: Any, iteration: Any) -> tuple[tuple[Record, ...], int]:
    """Return a history and the number of an iteration in it."""
    width = len(fields(Record))
    if not all(isinstance(row, list) and len(row) == width for row in rows):
        raise ValueError("its history is not made of records")
    numbers = [iteration, *(v for row in rows for v in row)]
    if not all(v is None or type(v) in (int, float) for v in numbers):
        raise ValueError("its history is not made of numbers")
    history = tuple(Record(*row) for row in rows)
    for number, r in enumerate(history):
        known = (r.train, r.train_impossible, r.objective, r.seconds)
        judged = (r.valid is None) == (r.valid_impossible is None)
        if r.iteration != number or None in known or not judged:
            raise ValueError("its history is not that of a training")
    if not isinstance(iteration, int) or not 0 <= iteration < len(history):
        raise ValueError("its best iteration is not in its history")
    return history, iteration

"""The state of training as plain values and arrays, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.savepoints import Arrays, Piece
from spnc.program.program import Parameters
from spnc.training import FitResult, Record, State


def stored_state(state: State) -> Piece:
    """Return a state as plain values and arrays."""
    tensors = {
        **stored_parameters("", state.parameters),
        **stored_parameters("best.", state.best),
        **{f"memory.{name}": np.ascontiguousarray(a) for name, a in state.memory.items()},
    }
    about: dict[str, Any] = {
        "best_iteration": state.best_iteration,
        "history": _rows(state.history),
    }
    if state.earlier:
        about["earlier"] = []
    for number, fitted in enumerate(state.earlier):
        tensors |= stored_parameters(f"earlier.{number}.", fitted.parameters)
        about["earlier"].append(
            {
                "history": _rows(fitted.history),
                "stopped": fitted.stopped,
                "kept": fitted.kept,
                "kept_iteration": fitted.kept_iteration,
            }
        )
    return Piece(about, tensors)


def restored_state(piece: Piece, like: Parameters) -> State:
    """Return a state that was stored. Raises LookupError, TypeError or ValueError if it is none.

    Its arrays must have the shapes of `like`, the parameters that training began with. Those of a
    fit after another have shapes of their own, and memories are the optimiser's: both are checked
    when training continues, as are the values of all parameters.
    """
    about, tensors = piece
    earlier = []
    for number, fit in enumerate(about.get("earlier", [])):
        history, kept = _history(fit["history"], fit["kept_iteration"])
        found = restored_parameters(f"earlier.{number}.", tensors, like if number == 0 else None)
        earlier.append(FitResult(found, history, str(fit["stopped"]), str(fit["kept"]), kept))
    shaped = None if earlier else like
    history, best = _history(about["history"], about["best_iteration"])
    return State(
        restored_parameters("", tensors, shaped),
        restored_parameters("best.", tensors, shaped),
        best,
        history,
        {n.removeprefix("memory."): a for n, a in tensors.items() if n.startswith("memory.")},
        tuple(earlier),
    )


def stored_parameters(prefix: str, parameters: Parameters) -> dict[str, Floats]:
    """Return parameters as arrays whose names have a prefix."""
    tables = {f"{prefix}tables.{i}": t for i, t in enumerate(parameters.tables)}
    arrays = {f"{prefix}weights": parameters.weights, **tables}
    return {name: np.ascontiguousarray(a) for name, a in arrays.items()}


def restored_parameters(prefix: str, tensors: Arrays, like: Parameters | None) -> Parameters:
    """Return parameters that were stored. Raises LookupError or ValueError.

    With `like`, they must have the same shapes.
    """
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

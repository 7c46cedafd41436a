"""Random discrete models with all their rows, and random events over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.queries.events import All, Any, Box, Event, Not, Within, boxes_of
from spnc.queries.value_sets import ValueSet
from tests.circuits import all_states, probability, random_circuit


class Enumerated(NamedTuple):
    """A program, its parameters, all its rows, and their probabilities."""

    program: Program
    parameters: Parameters
    rows: Floats
    chances: Floats


def enumerated(seed: int, variables: int = 4) -> Enumerated:
    """A random model, a tree or a DAG, sometimes with impossible rows."""
    share = 0.0 if seed % 3 == 0 else 0.4
    graph = random_circuit(seed, variables=variables, depth=4, share=share, extremes=seed % 2 == 0)
    program, parameters = lower(graph)
    rows = all_states(program.columns)
    return Enumerated(
        program, parameters, rows, np.array([probability(graph, row) for row in rows])
    )


def random_event(program: Program, rng: np.random.Generator, depth: int = 2) -> Event:
    """A random event; it may be impossible, or certain."""
    if depth == 0 or rng.random() < 0.3:
        column = int(rng.integers(len(program.columns)))
        states = np.flatnonzero(rng.random(program.columns[column].states) < 0.6)
        return Within(column, ValueSet.codes(program.columns[column], states.tolist()))
    parts = tuple(random_event(program, rng, depth - 1) for _ in range(int(rng.integers(1, 4))))
    return Not(parts[0]) if rng.random() < 0.2 else rng.choice([All, Any])(parts)


def boxes_and_rows(known: Enumerated, seed: int) -> tuple[list[Box], NDArray[np.bool_]]:
    """The boxes of a random event, and which rows are in it."""
    event = random_event(known.program, np.random.default_rng(seed))
    boxes = boxes_of(event, known.program.columns)
    inside = [any(all(row[c] in v for c, v in box.items()) for box in boxes) for row in known.rows]
    return boxes, np.array(inside)

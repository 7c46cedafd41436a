"""Dropout: some children of sums are left out for one iteration.

The thinned circuit is a valid circuit with fewer edges. Its E-step is exact. Its M-step changes
only what the thinned circuit contains: the children that stayed redistribute their joint weight
among themselves, those left out keep theirs, and a sum or leaf that was cut off stays as it was.
Otherwise the prior would pull every parameter without rows towards the uniform distribution.
Parameters that no thinned circuit would change are also a fixed point of EM without dropout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts
from spnc.training.m_step import m_step

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Thinned:
    """A circuit without some of its edges."""

    kept: Marks  # by weight slot
    reached: Marks  # by node: whether the root still leads there
    parameters: Parameters  # of the whole circuit, with the kept weights rescaled to sum to one

    @staticmethod
    def of(
        program: Program, parameters: Parameters, share: float, rng: np.random.Generator
    ) -> Thinned:
        """Leave out each child of a sum with probability `share`, but never the last one."""
        kept = _draw(program, parameters.weights, share, rng)
        weights = _normalised(np.where(kept, parameters.weights, 0.0), program)
        return Thinned(kept, _reached(program, kept), Parameters(weights, parameters.tables))

    def m_step(
        self, program: Program, old: Parameters, counts: Counts, prior: Smoothing
    ) -> Parameters:
        """Return the whole circuit's new parameters, from the thinned one's expected counts."""
        starts, sizes = program.weight_starts[:-1], np.diff(program.weight_starts)
        tables = tuple(
            np.where(self.reached[leaf.first : leaf.last, None], new, table)
            for leaf, new, table in zip(
                program.leaves,
                m_step(program, old, counts, prior).tables,
                old.tables,
                strict=True,
            )
        )
        if program.slots == 0:
            return Parameters(old.weights, tables)
        evidence = np.where(self.kept, counts.weights + prior.weights, 0.0)
        total = np.add.reduceat(evidence, starts)
        mass = np.add.reduceat(np.where(self.kept, old.weights, 0.0), starts)
        moves = self.reached[_sums(program)] & (total > 0.0)
        scale = np.where(moves, mass / np.where(total > 0.0, total, 1.0), 0.0)
        changed = self.kept & np.repeat(moves, sizes)
        weights = np.where(changed, evidence * np.repeat(scale, sizes), old.weights)
        return Parameters(_normalised(weights, program), tables)


def _draw(program: Program, weights: Floats, share: float, rng: np.random.Generator) -> Marks:
    """Draw which slots stay. Each sum keeps at least one child of positive weight."""
    draws = np.where(weights > 0.0, rng.random(len(weights)), -1.0)
    if len(draws) == 0:
        return draws >= share
    top = np.maximum.reduceat(draws, program.weight_starts[:-1])
    last = draws == np.repeat(top, np.diff(program.weight_starts))
    kept: Marks = (draws >= share) | last
    return kept


def _reached(program: Program, kept: Marks) -> Marks:
    reached = np.zeros(program.nodes, dtype=np.bool_)
    reached[program.root] = True
    for segment in reversed(program.segments):
        along = np.repeat(reached[segment.first : segment.last], np.diff(segment.starts))
        if segment.is_sum:
            along &= kept[segment.slots]
        reached[segment.children[along]] = True
    return reached


def _sums(program: Program) -> NDArray[np.int64]:
    """Return the numbers of the sums, in the order of their weights."""
    return np.concatenate([np.arange(s.first, s.last) for s in program.segments if s.is_sum])


def _normalised(weights: Floats, program: Program) -> Floats:
    if len(weights) == 0:
        return weights
    totals = np.add.reduceat(weights, program.weight_starts[:-1])
    found: Floats = weights / np.repeat(totals, np.diff(program.weight_starts))
    return found

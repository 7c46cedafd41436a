"""Whether the arrays of a `Program` make a valid circuit: for files that may be damaged.

A program that spnc lowered itself comes from a graph that passed `spnc.checks`, and is valid. One
that was read from a file may have been damaged or tampered with, and no graph can be built from
arrays that do not fit together. So the arrays themselves are checked here: shapes first, then
scopes, then parameters. Messages are short, since the remedy is always a new copy of the file;
`spnc.checks` has the ones that lead back to a spec.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from spnc.common.arrays import Ints
from spnc.common.column_sets import complement, is_wide, release, union_and_overlap
from spnc.data.columns import Column
from spnc.leaves.smoothing import SUM_TOLERANCE
from spnc.program.program import Parameters, Program
from spnc.registry import LEAVES


def program_problems(program: Program, parameters: Parameters) -> Iterator[str]:
    """Yield everything that is wrong with a program's arrays and its parameters."""
    shape = list(_shape_problems(program))
    yield from shape
    if not shape:
        yield from _depth_problems(program)
        yield from _scope_problems(program)
        yield from parameter_problems(program, parameters)


def _shape_problems(program: Program) -> Iterator[str]:
    """Arrays that do not fit together: nothing else can be read from them."""
    names = [c.name for c in program.columns]
    if len(set(names)) < len(names) or not all(map(_is_well_formed, program.columns)):
        yield "the columns are not well formed"
    seen = 0
    for table in program.leaves:
        if table.distribution not in LEAVES:
            yield f"unknown leaf distribution {table.distribution!r}"
            return
        if table.first != seen or len(table) == 0 or table.variables.dtype != np.int64:
            yield "leaf tables are not consecutive"
            return
        seen = table.last
        if not _within(table.variables, 0, len(program.columns)):
            yield "a leaf names a column that does not exist"
            return
        own = {program.columns[v] for v in set(table.variables.tolist())}
        if any(c.states != table.states or c.kind not in table.kind.kinds for c in own):
            yield "a leaf does not fit its column"
    slot = 0
    for s in program.segments:
        if s.first != seen or s.last <= s.first or len(s.starts) != s.last - s.first + 1:
            yield "segments are not consecutive"
            return
        if s.children.dtype != np.int64 or s.starts.dtype != np.int64:
            yield "child lists are not whole numbers"
            return
        if s.starts[0] != 0 or s.starts[-1] != len(s.children) or (np.diff(s.starts) < 1).any():
            yield "child lists are not well formed"
            return
        if not _within(s.children, 0, s.first):
            yield "a node's child does not come before it"
            return
        if s.is_sum:
            if s.first_slot != slot:
                yield "weight slots are not consecutive"
            slot += len(s.children)
        seen = s.last
    if not 0 <= program.root < seen:
        yield "the root does not exist"


def _depth_problems(program: Program) -> Iterator[str]:
    """A number of layers that is not that of the circuit."""
    depth = np.ones(program.nodes, dtype=np.int64)
    for s in program.segments:
        depth[s.first : s.last] = 1 + np.maximum.reduceat(depth[s.children], s.starts[:-1])
    if depth[program.root] != program.layers:
        yield f"the circuit has {depth[program.root]} layers, not {program.layers}"


def _scope_problems(program: Program) -> Iterator[str]:
    """Nodes that are not complete, not decomposable or not below the root."""
    scope: list[Any] = program.leaf_scopes()
    all_children = [np.zeros(0, dtype=np.int64), *(s.children for s in program.segments)]
    parents = np.bincount(np.concatenate(all_children), minlength=program.nodes)
    uses = parents.tolist() if is_wide(scope[0]) else None
    if uses is not None:
        uses[program.root] += 1  # which is looked at in the end
    for s in program.segments:
        children, starts = s.children.tolist(), s.starts.tolist()
        for n, (start, stop) in enumerate(pairwise(starts), s.first):
            used = children[start:stop]
            own = [scope[c] for c in used]
            if s.is_sum and own.count(own[0]) == len(own):
                scope.append(own[0])
            else:
                union, overlap = union_and_overlap(own)
                scope.append(union)
                if s.is_sum:
                    yield f"sum {n} has children with different variables"
                elif overlap:
                    yield f"product {n} has children that share variables"
            if uses is not None:
                release(scope, used, uses)
        above = np.repeat(np.arange(s.first, s.last), np.diff(s.starts))
        if len(np.unique(above * program.nodes + s.children)) < len(s.children):
            yield "a node has the same child twice"
    has_parent = parents > 0
    if has_parent[program.root] or not has_parent[np.arange(program.nodes) != program.root].all():
        yield "a node is not below the root"
    if complement(scope[program.root], len(program.columns)):
        yield "the root does not model every column"


def parameter_problems(program: Program, parameters: Parameters) -> Iterator[str]:
    """Weights and leaf tables of the wrong shape, or that are not probabilities."""
    weights = parameters.weights
    if weights.shape != (program.slots,) or weights.dtype != np.float64:
        yield f"{weights.shape} weights for {program.slots} slots"
    elif not (np.isfinite(weights).all() and (weights >= 0).all()):
        yield "a weight is negative or not a number"
    elif program.slots:
        totals = np.add.reduceat(weights, program.weight_starts[:-1])
        if (np.abs(totals - 1.0) > SUM_TOLERANCE).any():
            yield "the weights of a sum do not add up to one"
    if len(parameters.tables) != len(program.leaves):
        yield "leaf parameters are missing"
        return
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        if table.dtype != np.float64 or table.ndim != 2 or len(table) != len(leaf):
            yield "a leaf table has the wrong shape"
        elif not leaf.kind.is_valid(table, leaf.columns):
            yield f"a leaf of type `{leaf.distribution}` has invalid parameters"


def _is_well_formed(column: Column) -> bool:
    """Whether a column has as many states as its kind and its labels say."""
    if not column.is_finite:
        return column.states == 0 and column.labels is None
    return column.states >= 2 and (column.labels is None or len(column.labels) == column.states)


def _within(values: Ints, low: int, high: int) -> bool:
    return len(values) == 0 or (int(values.min()) >= low and int(values.max()) < high)

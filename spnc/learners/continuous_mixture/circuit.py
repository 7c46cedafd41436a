"""The circuit of a fitted mixture: a sum over the points, each with a tree over the same columns.

The trees share the indicator leaves that say which state a column has. Every other leaf belongs to
a point and to a state of the column's parent.
"""

from __future__ import annotations

from spnc.common.arrays import Floats
from spnc.graph.nodes import Leaf, Product, Sum
from spnc.learners import LearningTask
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.number_leaves import Floats32
from spnc.learners.support.leaf_choice import finite_leaf
from spnc.learners.support.leaf_nodes import NodeList
from spnc.leaves.finite import as_finite
from spnc.leaves.indicator import Indicator


def add_circuit(task: LearningTask, tree: LogLinearTree, outputs: Floats32, weights: Floats) -> int:
    """Add a sum over all points, each with a tree. Return the sum.

    `outputs[output, point]` are those of the decoder.
    """
    made = NodeList(task.builder.origin)
    tables = tree.tables(outputs[: tree.logits])
    variables = tree.numbers.states_at or range(len(tables))
    alone = task.total * weights[:, None]
    above: dict[int, Floats] = {}  # rows, [point, parent's state], by column of states
    within: dict[int, Floats] = {-1: alone}  # rows, [point, state]
    # The children of each column of states, and those without a parent: a number of a column of
    # states, or of a column of numbers after all these.
    below: dict[int, list[int]] = {column: [] for column in range(-1, len(tables))}
    for child, parent in enumerate(tree.parents.tolist()):
        below[parent].append(child)
    for column in tree.order:
        above[column] = within[int(tree.parents[column])]
        within[column] = (above[column][:, :, None] * tables[column]).sum(axis=1)

    tops: dict[int, int] = {}  # first node of each column, of points · (states of the parent)
    models = tree.numbers.models(outputs[tree.logits :])
    for place, number in enumerate(tree.numbers.columns, len(tables)):
        rows = within[number.parent].ravel().tolist()
        tops[place] = made.add_all(number.variable, models[number.variable], rows)
        below[number.parent].append(place)
    for column in reversed(tree.order):
        children = [tops[child] for child in below[column]]
        rows = above[column].ravel().tolist()
        variable, chances = variables[column], tables[column]
        if children:
            top = _add_states(task, made, variable, chances, within[column], rows, children)
        else:
            top = _add_leaves(task, made, variable, chances, rows)
        tops[column] = top

    nodes, edges, origin = made.nodes, made.edges, made.origin
    first, *others = (tops[child] for child in below[-1])
    points = range(len(weights))
    if others:
        product = len(nodes)
        nodes += [Product(r, origin) for r in alone[:, 0].tolist()]
        edges += [(product + p, top + p, None) for p in points for top in (first, *others)]
        first = product
    nodes.append(Sum(task.total, origin))
    edges += [(len(nodes) - 1, first + point, w) for point, w in enumerate(weights.tolist())]
    return task.builder.extend(nodes, edges) + len(nodes) - 1


def _add_leaves(
    task: LearningTask, made: NodeList, variable: int, chances: Floats, rows: list[float]
) -> int:
    """Add a column of states without children. Return its first node."""
    column = task.columns[variable]
    leaf, flat = finite_leaf(column), chances.reshape(-1, column.states)
    found = map(leaf.from_row, as_finite(leaf).from_probabilities(flat, flat))
    top = len(made.nodes)
    made.nodes += [Leaf(variable, d, r, made.origin) for d, r in zip(found, rows, strict=True)]
    return top


def _add_states(
    task: LearningTask,
    made: NodeList,
    variable: int,
    chances: Floats,
    within: Floats,
    rows: list[float],
    children: list[int],
) -> int:
    """Add a column of states with children, whose first nodes are given. Return its first node.

    `chances` is `[point, state of the parent, state]`, `within` the rows in each state.
    """
    nodes, edges, origin = made.nodes, made.edges, made.origin
    points, given, states = chances.shape
    indicators = len(nodes)
    for state in range(states):
        known = task.rows_in_state(variable, state)
        nodes.append(Leaf(variable, Indicator(float(state)), known, origin))
    products = len(nodes)
    nodes += [Product(r, origin) for r in within.ravel().tolist()]
    for point in range(points):
        first = point * states
        for state in range(states):
            edges.append((products + first + state, indicators + state, None))
            edges += [(products + first + state, child + first + state, None) for child in children]
    top = len(nodes)
    nodes += [Sum(r, origin) for r in rows]
    for number, shares in enumerate(chances.reshape(-1, states).tolist()):
        first = products + number // given * states
        edges += [(top + number, first + s, w) for s, w in enumerate(shares)]
    return top

"""Answers for every row of a table, whose cells are evidence where a question says `*`.

A cell is evidence by its density, as in a row's log-likelihood. The usual questions, about one
column given the cells alone, are answered for many rows in one pass through the circuit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.program.program import Parameters
from spnc.queries.column_given_rows import ColumnGivenRows
from spnc.queries.events import EVERYTHING, All, Box, Event, Within, boxes_of
from spnc.queries.leaf_weights import columns_given_rows, without
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import ValueSet
from spnc.questions.answering import answer, statistic, statistic_of_states
from spnc.questions.question import Evidence, Probability, Question, Statistic, is_one_number


def check_for_rows(questions: Sequence[Question], sink: Sink) -> None:
    """Report questions whose answer is not one number, which a row's cell could hold (E815)."""
    for question in questions:
        if not is_one_number(question):
            message = "with a table, the answer to a question has to be one number for each row"
            help = "ask for P, E, SD, Var, median, quantile, H or MI, without `by`"
            sink.error("E815", message, where=question.text, help=help)


def answer_rows(engine: Engine, parameters: Parameters, question: Question, table: Table) -> Floats:
    """Return the answer to a question for each row of a table, NaN if undefined.

    The cells of the question's `*` are evidence; a missing one is left out.
    """
    columns = engine.program.columns
    taken = question.evidence.cells
    known = without(table, [i for i in range(len(columns)) if i not in taken])
    alone = boxes_of(question.evidence.event, columns) == [EVERYTHING]
    if alone and isinstance(question, Statistic):
        one = _statistic_of_rows(question)
        return _by_column(engine, parameters, known, question.column, one)
    if alone and isinstance(question, Probability):
        boxes = boxes_of(question.event, columns)
        asked = {column for box in boxes for column in box}
        if len(asked) == 1 and len(boxes) == 1:
            (column,) = asked
            return _by_column(engine, parameters, known, column, _chances_of(boxes[0][column]))
    return _one_by_one(engine, parameters, question, known)


def _by_column(
    engine: Engine,
    parameters: Parameters,
    known: Table,
    column: int,
    of: Callable[[ColumnGivenRows], Floats],
) -> Floats:
    """Return a number for each row that follows from the distribution of one column."""
    found = np.empty(known.rows)
    for rows, each in columns_given_rows(engine, parameters, known, [column]):
        found[rows] = of(each[column])
    return found


def _chances_of(values: ValueSet) -> Callable[[ColumnGivenRows], Floats]:
    """Return the function that returns the probability of a set of values in each row."""

    def chances(given: ColumnGivenRows) -> Floats:
        total = np.zeros(given.rows)
        for low, high in values.spans:
            total += given.within(np.full(given.rows, low), np.full(given.rows, high))
        return np.minimum(total, 1.0)

    return chances


def _statistic_of_rows(question: Statistic) -> Callable[[ColumnGivenRows], Floats]:
    """Return the function that returns a statistic of a column in each row."""

    def found(given: ColumnGivenRows) -> Floats:
        if given.column.is_finite:
            return statistic_of_states(
                given.column, given.probabilities(), question.name, question.share
            )
        if question.name == "E":
            return given.mean()
        if question.name in ("SD", "Var"):
            variance = given.variance()
            return np.sqrt(variance) if question.name == "SD" else variance
        return given.quantile(question.share)

    return found


def _one_by_one(engine: Engine, parameters: Parameters, question: Question, known: Table) -> Floats:
    """Return the answer for each row; equal rows are computed once."""
    distinct, inverse = known.distinct_with_inverse()
    rows = distinct.values
    found = np.array([_for_row(engine, parameters, question, row) for row in rows])
    return found[inverse] if len(found) else np.empty(0)


def _for_row(engine: Engine, parameters: Parameters, question: Question, cells: Floats) -> float:
    program = engine.program
    boxes: list[Box] = boxes_of(question.evidence.event, program.columns)
    if isinstance(question, Probability | Statistic):
        posterior = Posterior(program, parameters, boxes, cells)
        if not boxes or not posterior.is_possible:
            return math.nan
        if isinstance(question, Probability):
            return math.exp(posterior.log_probability_of(boxes_of(question.event, program.columns)))
        return statistic(posterior.column(question.column), question.name, question.share)
    # Entropies are of models given boxes: a number is known to within half of its resolution.
    facts = [
        Within(i, cell_set(program.columns[i], float(cells[i])))
        for i in np.flatnonzero(~np.isnan(cells)).tolist()
    ]
    event: Event = All((question.evidence.event, *facts))
    one = answer(program, parameters, replace(question, evidence=Evidence(event)))
    return math.nan if one.value is None else one.value


def cell_set(column: Column, value: float) -> ValueSet:
    """Return the values that a cell stands for: a number within half of its resolution."""
    if column.is_finite or column.kind == "count":
        return ValueSet.of(column, [(value, value)])
    half = 0.5 * (1.0 if column.scale is None else column.scale.resolution)
    return ValueSet.of(column, [(value - half, value + half)])

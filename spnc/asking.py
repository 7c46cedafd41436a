"""`Asking`: models made from models, and numbers about them. Its methods are those of `Model`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.diagnostics import Sink, Source
from spnc.program.program import Parameters, Program
from spnc.queries.arguments import check_whole, column_places
from spnc.queries.events import (
    ALWAYS,
    MOST_BOXES,
    Box,
    Event,
    ImpossibleError,
    TooManyBoxesError,
    boxes_of,
)
from spnc.queries.rows import Rows

if TYPE_CHECKING:  # imported by the methods that need them, so that a first question is fast
    from spnc.graph.nodes import Graph
    from spnc.queries.divergence import Divergence
    from spnc.queries.gradients import ParameterGradients
    from spnc.questions.answers import Answer

Given = str | Event | None  # what is known: text of the question language, or an event


class Moments(NamedTuple):
    """Mean and variance of a number."""

    mean: float
    variance: float

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.variance))


class LikelyRow(NamedTuple):
    """The most likely values of some columns, and how likely they are.

    No row has a log probability (or density) above `upper_bound`; with `exact`, none has more than
    `log_value`.
    """

    rows: Rows
    log_value: float
    upper_bound: float
    exact: bool


class Asking(ABC):
    """What can be asked of a circuit with parameters; see `Model`."""

    program: Program
    parameters: Parameters

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order in which values are given."""

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The program opened on the model's backend."""

    @abstractmethod
    def graph(self) -> Graph:
        """Return the circuit as a networkx graph."""

    @abstractmethod
    def table_of(self, data: Any) -> Table:
        """Return data as a table of the model's columns."""

    @abstractmethod
    def derived(self, graph: Graph, step: str) -> Self:
        """Return the model of a circuit that was made from this one's."""

    def query(self, text: str, seed: int = 0) -> Answer | list[Answer]:
        """Return the answer to a question such as `P(sex = F | age > 40)`; a list for several.

        Questions are separated by line ends or `;`. `seed` says which rows `sample` draws. Raises
        `InputError` with every mistake in the text. The language: docs/questions.md.
        """
        from spnc.questions.answering import answer
        from spnc.questions.binder import read_questions

        sink = Sink()
        check_whole("seed", seed, sink)
        questions = read_questions(Source("question", text), self.columns, sink)
        sink.stop()
        found = [answer(self.program, self.parameters, one, seed) for one in questions]
        return found[0] if len(found) == 1 else found

    # ---- models from models --------------------------------------------------------------------

    def condition(self, event: str | Event) -> Self:
        """Return the model of the rows for which an event is true, as `sex = F, age > 40`.

        It has the same columns. Sets of states and intervals become restricted leaves. Raises
        `InputError` if the event is misspelt or has probability zero.
        """
        from spnc.queries.condition import conditioned

        boxes = self.boxes_given(event)
        try:
            graph = conditioned(self.program, self.parameters, boxes)
        except ImpossibleError:
            sink = Sink()
            help = "there are no rows to make a model of; ask for `P(…)` to see which part it is"
            sink.error("E851", "the event has probability zero", help=help)
            sink.stop()
        return self.derived(graph, f"given {event}" if isinstance(event, str) else "given an event")

    def marginal(self, columns: Iterable[str]) -> Self:
        """Return the model of some columns, in this order, with the others summed out.

        Raises `InputError` for unknown names.
        """
        from spnc.queries.marginal import marginalised

        names = list(columns)
        graph = marginalised(self.program, self.parameters, self._places(names))
        return self.derived(graph, f"columns {', '.join(names)}")

    def product(self, other: Asking) -> Self:
        """Return the model proportional to the product of two models' probabilities.

        Both have the same columns. Raises `InputError` where the product is not a circuit.
        """
        return self._combined(other, "product")

    def quotient(self, other: Asking) -> Self:
        """Return the model proportional to this model's probability divided by the other's.

        Both have the same columns, and the other is deterministic: at every sum, a row is possible
        below one child only, as in a Chow-Liu tree of states. Raises `InputError` where that is
        not so, and where the other has probability zero but this one has not.
        """
        return self._combined(other, "quotient")

    def _combined(self, other: Asking, what: str) -> Self:
        from spnc.queries.determinism import is_deterministic
        from spnc.queries.product import IncompatibleError, inverse, multiplied, same, support

        sink = Sink()
        self._check_columns(other, sink)
        sink.stop()
        first, second = self.graph(), other.graph()
        try:
            if what == "quotient":
                if not is_deterministic(other.program, [other.parameters]):
                    raise IncompatibleError("the second circuit is not deterministic")
                if multiplied(first, second, support)[1] < -1e-9:
                    raise IncompatibleError("a row is impossible in the second circuit alone")
            found, _ = multiplied(first, second, inverse if what == "quotient" else same)
        except IncompatibleError as error:
            sink.error("E852", f"there is no {what} of these models: {error}")
            sink.stop()
        return self.derived(found, f"{what} of two models")

    # ---- numbers -------------------------------------------------------------------------------

    def divergence(self, other: Asking, seed: int = 0) -> Divergence:
        """Return cross entropy and divergence KL(this || other) of models over the same columns.

        They are exact for few joint states, and for deterministic circuits of the same structure;
        otherwise estimated from rows drawn with `seed`, with an error and, for circuits of the same
        structure, an upper bound. Raises `InputError` for different columns.
        """
        from spnc.queries.divergence import divergence

        sink = Sink()
        self._check_columns(other, sink)
        sink.stop()
        return divergence((self.engine, self.parameters), (other.engine, other.parameters), seed)

    def linear(
        self, coefficients: Mapping[str, float], *, given: Given = None, constant: float = 0.0
    ) -> Moments:
        """Return mean and variance of constant + Σ coefficient · column, exactly.

        Labels that are numbers count as these. Raises `InputError` for other labels.
        """
        from spnc.queries.linear import linear_moments

        sink = Sink()
        places = self._places(list(coefficients))
        factors: dict[int, float] = {}
        for place, (name, factor) in zip(places, coefficients.items(), strict=True):
            if any(isinstance(label, str) for label in self.columns[place].labels or ()):
                message = f"the values of column `{name}` are no numbers"
                sink.error("E853", message, help="take columns of numbers")
            factors[place] = float(factor)
        sink.stop()
        boxes = self.boxes_given(given)
        return Moments(*linear_moments(self.program, self.parameters, boxes, factors, constant))

    def most_likely(
        self, columns: Iterable[str] | None = None, *, given: Given = None
    ) -> LikelyRow:
        """Return the most likely values of columns (all by default), given an event.

        The other columns are summed out. The search says whether its result is exact, and gives an
        upper bound. Raises `InputError` if the event is misspelt or has probability zero.
        """
        from spnc.queries.most_likely import most_likely

        names = [column.name for column in self.columns] if columns is None else list(columns)
        places = self._places(names)
        try:
            found = most_likely(self.program, self.parameters, self.boxes_given(given), places)
        except ImpossibleError:
            sink = Sink()
            sink.error("E851", "the event has probability zero")
            sink.stop()
        rows = Rows(tuple(self.columns[i] for i in places), found.row[None, places])
        return LikelyRow(rows, found.log_value, found.upper_bound, found.exact)

    def node_log_values(self, data: Any) -> Floats:
        """Return the log density of every row's cells at every node, `[node, row]`.

        Nodes are numbered as in `graph()`; a node sees the columns below it, and missing cells are
        summed out. `data` is as for `log_likelihood`.
        """
        from spnc.queries.node_passes import row_log_values

        return row_log_values(self.program, self.parameters, self.table_of(data).values)

    def node_flows(self, data: Any) -> Floats:
        """Return the probability that each node generates its columns, given each row.

        The array is `[node, row]`; the root of a possible row has one. The flow through a sum's
        edge is the flow of the sum times the edge's share of the sum's value.
        """
        from spnc.queries.node_passes import row_flows

        return row_flows(self.program, self.parameters, self.node_log_values(data))

    def parameter_gradients(self, data: Any) -> ParameterGradients:
        """Return the exact derivatives of the summed log-likelihood of rows by the parameters."""
        from spnc.queries.gradients import parameter_gradients

        return parameter_gradients(self.engine, self.parameters, self.table_of(data))

    def input_gradients(self, data: Any) -> Floats:
        """Return the exact derivative of each row's log-likelihood by its numbers.

        The array is `[row, column]`, NaN for columns that are not real or dates, for missing cells
        and for impossible rows.
        """
        from spnc.queries.gradients import input_gradients

        return input_gradients(self.program, self.parameters, self.table_of(data).values)

    # ---- arguments -----------------------------------------------------------------------------

    def boxes_given(self, given: Given) -> list[Box]:
        """Return the disjoint boxes of an event. Raises `InputError` for bad text."""
        sink = Sink()
        event: Event | None = ALWAYS
        if isinstance(given, str):
            from spnc.questions.binder import read_event

            event = read_event(Source("event", given), self.columns, sink)
        elif given is not None:
            event = given
        found = None
        try:
            found = None if event is None else boxes_of(event, self.columns)
        except TooManyBoxesError:
            message = f"the event needs more than {MOST_BOXES:,} cases to be told apart"
            help = "ask about parts of it, with fewer `or` over different columns"
            sink.error("E813", message, help=help)
        return sink.require(found)

    def _places(self, names: list[str]) -> list[int]:
        """Return the numbers of columns. Raises `InputError` for unknown or repeated names."""
        sink = Sink()
        places = column_places(self.columns, names, sink)
        if not names:
            sink.error("E508", "no column is given", help="name at least one")
        for name in sorted({name for name in names if names.count(name) > 1}):
            sink.error("E508", f"column `{name}` is given twice")
        sink.stop()
        return places

    def _check_columns(self, other: Asking, sink: Sink) -> None:
        """Report if two models have different columns (E852)."""
        own = [(c.name, c.kind, c.states, c.labels) for c in self.columns]
        others = [(c.name, c.kind, c.states, c.labels) for c in other.columns]
        if own != others:
            help = "both need the same columns, with the same values and in the same order"
            sink.error("E852", "the models have different columns", help=help)

"""`TableAnswers`: what a model answers about whole tables from Python."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spnc.diagnostics import Sink, listed, render
from spnc.queries.arguments import check_share, check_whole

if TYPE_CHECKING:  # imported by the methods that need them, so that a first question is fast
    from spnc.data.table import Table
    from spnc.queries.dependence import Dependence
    from spnc.queries.imputation import Method
    from spnc.tables.asked_model import AskedModel
    from spnc.tables.carried import Carried


class TableAnswers:
    """Questions about whole tables, answered by tables of the kind that came in.

    A data frame is answered by a data frame of the same library; dicts, arrays and `Rows` by a dict
    of columns. Columns are matched by name, in any order. Those that the model does not know are
    copied. Raises `InputError` for cells that a column cannot have and for wrong arguments.
    """

    if TYPE_CHECKING:  # it is a `spnc.model.Model`

        def _asked(self) -> AskedModel: ...

    def impute(
        self,
        data: Any,
        *,
        method: Method = "mean",
        threshold: float = 0.0,
        probabilities: bool = False,
        draws: int | None = None,
        seed: int = 0,
    ) -> Any:
        """Return the table with its missing cells filled; all other cells stay as they are.

        `method` is one of:

        - "mean": the expectation of a number, the most probable label;
        - "most-probable": the most probable number or label;
        - "draw": a draw of all missing cells of a row together;
        - "most-probable-row": the most probable missing cells of a row together.

        The first two fill each cell given the known cells of its row. Cells whose probability is
        below `threshold` stay missing; the probability of a number is that of lying within half a
        standard deviation of its column. `probabilities` adds a column `NAME.probability` for every
        column with missing cells, and `NAME.sd` for numbers. With `draws`, that many draws are put
        below one another, and a column `.draw` has their numbers.
        """
        from spnc.queries.imputation import METHODS
        from spnc.tables import impute

        model, sink = self._asked(), Sink()
        if method not in METHODS:
            hint = f"give one of {listed(METHODS)}"
            sink.error("E505", f"`method` is {method!r}", help=hint)
        check_share("threshold", threshold, sink)
        check_whole("seed", seed, sink)
        if draws is not None:
            check_whole("draws", draws, sink, least=1)
            if method != "draw":
                sink.error("E505", "`draws` needs a method that draws", help='give method="draw"')
        sink.stop()
        new = impute.added_names(model.columns, probabilities, draws)
        table, carried = _read(model, data, new)
        return impute.fill(
            model,
            table,
            carried,
            method=method,
            threshold=threshold,
            probabilities=probabilities,
            draws=draws,
            seed=seed,
        ).table.data

    def predict(self, data: Any, target: str, *, interval: float = 0.9) -> Any:
        """Return the table with the prediction of a column, given the other cells of each row.

        For labels, columns `TARGET.predicted`, the most probable one, and `TARGET=LABEL`, their
        probabilities, are added; for numbers `TARGET.mean`, `.sd`, `.median`, `.low` and `.high`,
        between which the number lies with the probability `interval`. The target itself may be in
        the table: it is not looked at.
        """
        from spnc.queries.arguments import column_places
        from spnc.tables import predict

        model, sink = self._asked(), Sink()
        check_share("interval", interval, sink, inside=True)
        places = column_places(model.columns, [target], sink)
        sink.stop()
        table, carried = _read(model, data, predict.added_names(model.columns[places[0]]))
        return predict.predict(model, table, carried, places[0], interval=interval).table.data

    def anomalies(
        self, data: Any, *, top: int | None = None, samples: int | None = None, seed: int = 0
    ) -> Any:
        """Return the table with the oddness of every row or, with `top`, of the oddest ones.

        Columns `.log_likelihood`, `.p_value` (the probability that a row of the model, of which
        the same cells are known, is at most as likely; by `samples` drawn rows) and `.odd_cells`
        (in words: the cells that are much less likely than another value) are added. There are
        10,000 `samples` by default.
        """
        from spnc.queries.anomaly import SAMPLES
        from spnc.tables import anomalies

        model, sink = self._asked(), Sink()
        samples = SAMPLES if samples is None else samples
        for name, value, least in (("top", top, 0), ("samples", samples, 1), ("seed", seed, 0)):
            if value is not None:
                check_whole(name, value, sink, least=least)
        sink.stop()
        table, carried = _read(model, data, anomalies.ADDED)
        found = anomalies.judge(model, table, carried, top=top, samples=samples, seed=seed)
        return found.table.data

    def dependence(
        self, columns: Sequence[str] | None = None, *, bins: int | None = None
    ) -> Dependence:
        """Return how strongly every two columns depend on each other, by mutual information.

        Labels are exact; numbers are divided into `bins` of equal probability, 16 by default.
        """
        from spnc.queries.arguments import column_places
        from spnc.queries.dependence import BINS, dependence

        model, sink = self._asked(), Sink()
        bins = BINS if bins is None else bins
        check_whole("bins", bins, sink, least=2)
        names = [column.name for column in model.columns] if columns is None else columns
        places = column_places(model.columns, names, sink)
        sink.stop()
        own: Any = self
        return dependence(model.engine.program, model.parameters, own.opened, places, bins=bins)


def _read(model: AskedModel, data: Any, new: Sequence[str]) -> tuple[Table, Carried]:
    """Return data from Python as a table of the model, and as what is carried along."""
    from narwhals.exceptions import DuplicateError

    from spnc.data.frames import GIVEN
    from spnc.queries.rows import Rows
    from spnc.tables.carried import Carried, check_free, warn_of_strangers

    try:
        carried = None if isinstance(data, Rows) else Carried.of(data)
    except DuplicateError:
        carried = None  # reading the data reports it
    if carried is None:  # an array, whose numbers may be codes: labels are carried along
        table = model.table_of(data)
        carried = Carried.of(Rows(model.columns, table.values).to_dict())
        assert carried is not None
        return table, carried
    sink = Sink()
    known = warn_of_strangers(carried.names, model.columns, model.rules, sink, GIVEN)
    check_free(carried.names, new, sink, GIVEN)
    if carried.names and not known and not _index_names(data) & _names(model):
        message = "none of the table's columns is known to the model"
        help = f"the model has {listed([column.name for column in model.columns])}"
        sink.error("E307", message, where=GIVEN, help=help)
    sink.stop()
    for diagnostic in sink.warnings:
        warnings.warn(render([diagnostic]), stacklevel=3)
    return model.table_of(carried.part(known)), carried


def _names(model: AskedModel) -> set[str]:
    return {column.name for column in model.columns}


def _index_names(data: Any) -> set[str]:
    """Return the names of the index of a pandas frame, which a model may know as columns."""
    return set(getattr(getattr(data, "index", None), "names", ()))

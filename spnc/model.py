"""`Model`: a program with its parameters and its provenance. It is saved, loaded and queried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spnc.asking import Asking, Given
from spnc.backends import Backend, Engine
from spnc.common.atomic import write_bytes
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.common.views import model_html, model_text
from spnc.data.cells import column_text
from spnc.data.columns import Column
from spnc.data.dataset import UNSPLIT
from spnc.data.pairs import mutual_information
from spnc.data.plain_arrays import PlainArrays
from spnc.data.table import Table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, counted, did_you_mean, listed
from spnc.exports.exporting import Exporting
from spnc.program.model_file import SavedModel, file_content, read_model_file
from spnc.program.program import Parameters, Program
from spnc.program.score import Score
from spnc.queries.arguments import check_whole, column_places
from spnc.queries.discretise import Cuts, cuts_by_scale, discretised
from spnc.queries.pairwise import pair_probabilities
from spnc.queries.rows import Rows
from spnc.registry import BACKENDS
from spnc.tables.asked_model import AskedModel
from spnc.tables.table_answers import TableAnswers

if TYPE_CHECKING:
    from spnc.data.images import ImageSize
    from spnc.graph.nodes import Graph


@dataclass(eq=False, repr=False)
class Model(Asking, TableAnswers, Exporting):
    """A circuit with parameters. `provenance` is plain JSON: recipe, data hash, versions."""

    name: str
    program: Program
    parameters: Parameters
    provenance: dict[str, Any] = field(default_factory=dict)
    backend: Backend = field(default_factory=lambda: BACKENDS["auto"]())
    _engine: Engine | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is copied and pickled: all but the engine, which is opened again."""
        return {**self.__dict__, "_engine": None}

    def __repr__(self) -> str:
        return model_text(self.name, self._counts())

    def _repr_html_(self) -> str:
        columns = [(c.name, f"{c}: {column_text(c)}") for c in self.columns]
        return model_html(self.name, self._counts(), columns, self.provenance)

    def _counts(self) -> dict[str, int]:
        facts = self.program.facts()
        shown = {name: facts[name] for name in ("nodes", "edges", "layers", "parameters")}
        return {"columns": len(self.columns), **shown}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order in which values are given."""
        return self.program.columns

    @property
    def rules(self) -> TableRules:
        """How tables are read and matched with the columns, as the training table was."""
        return TableRules.from_json(self.provenance.get("table"))

    @cached_property
    def _arrays(self) -> PlainArrays:
        return PlainArrays(self.columns, self.rules)

    @property
    def engine(self) -> Engine:
        """The program opened on the model's backend."""
        if self._engine is None:
            self._engine = self.backend.open(self.program)
        return self._engine

    def log_likelihood(self, data: Any) -> NDArray[np.float64]:
        """Return log p(row) for the rows of a data frame, dicts or an array.

        Columns with names are matched by name, in any order; an absent one is missing in every
        row. One row is a dict of values, or a series of pandas with names as its index. Arrays
        have the columns in the model's order; those of numbers hold the numbers of the table, and
        the codes of columns whose labels are texts: see `Column.array_labels`. Missing cells are
        marginalised. An impossible row has -inf. Raises `InputError` for unknown columns, and for
        values that no column can have.
        """
        pieces = self.table_of(data).pieces()
        return np.concatenate([np.empty(0), *map(self._log_likelihood, pieces)])

    def table_of(self, data: Any) -> Table:
        """Return a data frame, a dict of columns or an array as a table of the model's columns.

        Raises `InputError`.
        """
        if isinstance(data, Rows):
            if data.columns == self.columns:
                return Table(data.cells)
            data = data.to_dict()
        plain = self._arrays.table(data)
        if plain is not None:
            return plain
        from spnc.data.frames import raw_from_python
        from spnc.data.load import load_table

        sink, rules = Sink(), self.rules
        known = frozenset((*(c.name for c in self.columns), *rules.names, *rules.index))
        raw = raw_from_python(data, sink, known)
        sink.stop()
        assert raw is not None
        if raw.names is None and raw.width not in (len(self.columns), len(rules.names)):
            shape = (raw.rows, raw.width)
            wanted = counted(len(self.columns), "column")
            sink.error(
                "E505",
                f"the values have the shape {shape}, the model has {wanted}",
                help="give one row per case and one column per variable: "
                + listed([c.name for c in self.columns]),
            )
            sink.stop()
        found = load_table(raw, sink, columns=self.columns, rules=rules)
        return sink.require(found).in_memory(UNSPLIT)

    def _log_likelihood(self, table: Table) -> NDArray[np.float64]:
        """Return log p of the rows of a valid table; equal rows are computed once."""
        if table.seems_distinct():
            return self.engine.log_likelihood(self.parameters, self.engine.load(table, once=True))
        distinct, inverse = table.distinct_with_inverse()
        batch = self.engine.load(distinct, once=True)
        return self.engine.log_likelihood(self.parameters, batch)[inverse]

    def evaluate(
        self,
        source: Any,
        *,
        split: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Score]:
        """Return the score of every split of a data source: `scores["test"].average`.

        `source` is what `spnc eval` takes, a file or a dataset's name, or a table as for
        `log_likelihood`; without splits of its own it is the split "all". With `split`, only that
        one is scored. Files are read piece by piece. Raises `InputError`.
        """
        sink = Sink()
        scores: dict[str, Score] = {}
        pieces: Iterable[tuple[str, Table]]
        if isinstance(source, str | Path):
            from spnc.data.stream import stream_table

            what = f"`{source}`"
            pieces = stream_table(
                str(source), sink, columns=self.columns, rules=self.rules, progress=progress
            )
        else:
            what = "the given data"
            whole = self.table_of(source)
            pieces = ((UNSPLIT, piece) for piece in (whole.take(slice(0)), *whole.pieces()))
        seen = set()
        for name, piece in pieces:
            seen.add(name)
            if split in (None, name):
                rows = piece if piece.seems_distinct() else piece.distinct()
                batch = self.engine.load(rows, once=True)
                found = self.engine.score(self.parameters, batch)
                scores[name] = scores.get(name, Score()) + found
        if split is not None and split not in seen and not sink.failed:
            hint = did_you_mean(split, seen)
            sink.error("E318", f"{what} has no split `{split}`", help=hint)
        sink.stop()
        return scores

    def mutual_information(
        self, progress: Progress | None = None, cuts: Cuts | None = None
    ) -> NDArray[np.float64]:
        """Return the exact mutual information of every two columns, `[column, column]`, in nats.

        Numbers are divided into `BINS` bins: by `cuts`, or else by the scale of their column. The
        diagonal is zero. `progress` is called with the number of queries that are done.
        """
        cuts = cuts_by_scale(self.columns) if cuts is None else cuts
        engine, parameters = self.discretised(cuts)
        return mutual_information(pair_probabilities(engine, parameters, progress))

    def discretised(self, cuts: Cuts) -> tuple[Engine, Parameters]:
        """Return an engine and parameters of the model with numbers in bins."""
        program, parameters = discretised(self.program, self.parameters, cuts)
        return self.opened(program), parameters

    def sample(
        self,
        rows: int,
        seed: int = 0,
        *,
        given: Given = None,
        columns: Sequence[str] | None = None,
    ) -> Rows:
        """Return rows drawn from the model; the same seed gives the same rows.

        With `given`, they are drawn given an event such as `age > 40, sex = F`. `columns` chooses
        columns, and their order. Rows print as a table of labels, dates and numbers; their
        `values[row, column]` are the array that queries take. Raises `InputError` for a negative
        number of rows or seed, for unknown columns and for an event that cannot happen.
        """
        from spnc.queries.conditional_sample import sample_given
        from spnc.queries.events import ImpossibleError

        sink = Sink()
        check_whole("rows", rows, sink)
        check_whole("seed", seed, sink)
        places = None if columns is None else column_places(self.columns, columns, sink)
        sink.stop()
        boxes = self.boxes_given(given)
        stream = random_stream(seed, "sample")
        try:
            cells = sample_given(self.program, self.parameters, boxes, rows, stream)
        except ImpossibleError:
            sink.error("E851", "the event has probability zero", help="no row can be drawn")
            sink.stop()
        if places is None:
            return Rows(self.columns, cells)
        return Rows(tuple(self.columns[i] for i in places), cells[:, places])

    def opened(self, program: Program) -> Engine:
        """Return an engine for a program: the model's own one, if it is its own program."""
        return self.engine if program is self.program else self.backend.open(program)

    def _asked(self) -> AskedModel:
        return self

    def explore(
        self, path: str | Path, *, image: ImageSize = None, max_edges: int | None = None
    ) -> Path:
        """Write one self-contained HTML page in which the model answers questions. Return its path.

        `image` is the shape of rows that are pictures, as (lines, columns) of pixels, or "none"; by
        default the names of the columns decide. Raises `InputError`, also for circuits with more
        than `max_edges` edges, 400,000 by default.
        """
        from spnc.explore.page import MOST_EDGES, write_page

        return write_page(
            path,
            Sink(),
            name=self.name,
            program=self.program,
            parameters=self.parameters,
            image=image,
            max_edges=MOST_EDGES if max_edges is None else max_edges,
        )

    def graph(self) -> Graph:
        """Return the circuit as a networkx graph."""
        from spnc.program.lift import lift  # with networkx: most questions do without

        return lift(self.program, self.parameters)

    @gc_paused()
    def derived(self, graph: Graph, step: str) -> Model:
        """Return the model of a circuit that was made from this one's.

        `step` says how; the provenance keeps it, and what is known about tables.
        """
        from spnc import passes
        from spnc.program.lower import lower

        program, parameters = lower(passes.run(graph, passes.AFTER_TRAINING, keep=False))
        steps = [*self.provenance.get("derived", ()), step]
        names = self.rules.names or tuple(column.name for column in self.columns)
        kept = {column.name for column in program.columns}
        rules = replace(self.rules, names=names if kept < set(names) else ())
        provenance = {**self.provenance, "derived": steps, "table": rules.as_json()}
        return Model(self.name, program, parameters, provenance, self.backend)

    @gc_paused()
    def finished(self) -> Model:
        """Return the model for use, not for training: equal parts shared, dead edges dropped."""
        from spnc import passes
        from spnc.program.lower import lower

        graph = passes.run(self.graph(), passes.AFTER_TRAINING, keep=False)
        program, parameters = lower(graph)
        return Model(self.name, program, parameters, self.provenance, self.backend)

    def save(self, path: str | Path) -> None:
        """Write the model file; an existing one is replaced only by a complete one."""
        write_bytes(Path(path), to_bytes(self))


def load(path: str | Path) -> Model:
    """Load a saved model. Raises `InputError` if the file is not one."""
    sink = Sink()
    return sink.require(read_model(Path(path), sink))


def to_bytes(model: Model) -> bytes:
    """Return the content of the model's file."""
    return file_content(SavedModel(model.name, model.program, model.parameters, model.provenance))


def read_model(path: Path, sink: Sink) -> Model | None:
    """Return the model in a file, or None after reporting why it cannot be used."""
    saved = read_model_file(path, sink)
    if saved is None:
        return None
    return Model(saved.name, saved.program, saved.parameters, saved.provenance)

"""`Model`: a program with its parameters and its provenance. It is saved, loaded and queried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnc import passes
from spnc.backends import Backend, Engine
from spnc.common.atomic import write_bytes
from spnc.common.cells import column_text
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.common.views import model_html, model_text
from spnc.data.columns import Column
from spnc.data.dataset import UNSPLIT, Table
from spnc.data.pairs import mutual_information
from spnc.data.stream import stream_table
from spnc.diagnostics import Sink, counted, did_you_mean, listed
from spnc.graph.nodes import Graph
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.model_file import SavedModel, file_content, read_model_file
from spnc.program.program import Parameters, Program
from spnc.program.score import Score
from spnc.queries.pairwise import pair_probabilities
from spnc.queries.rows import Rows
from spnc.queries.sample import sample
from spnc.registry import BACKENDS


@dataclass(eq=False, repr=False)
class Model:
    """A circuit with parameters. `provenance` is plain JSON: recipe, data hash, versions."""

    name: str
    program: Program
    parameters: Parameters
    provenance: dict[str, Any] = field(default_factory=dict)
    backend: Backend = field(default_factory=lambda: BACKENDS["auto"]())
    _engine: Engine | None = None

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
    def engine(self) -> Engine:
        """The program opened on the model's backend."""
        if self._engine is None:
            self._engine = self.backend.open(self.program)
        return self._engine

    def log_likelihood(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return log p(row) for `values[row, column]`; NaN cells are marginalised.

        An impossible row has -inf. Raises `InputError` for values that no column can have.
        """
        return np.concatenate(
            [np.empty(0), *map(self._log_likelihood, Table(self._checked(values)).pieces())]
        )

    def _log_likelihood(self, table: Table) -> NDArray[np.float64]:
        """Return log p of the rows of a valid table; equal rows are computed once."""
        distinct, inverse = table.distinct_with_inverse()
        batch = self.engine.load(distinct, once=True)
        return self.engine.log_likelihood(self.parameters, batch)[inverse]

    def evaluate(
        self,
        source: str | Path | ArrayLike,
        *,
        split: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Score]:
        """Return the score of every split of a data source: `scores["test"].average`.

        `source` is what `spnc eval` takes, a file or a dataset's name, or an array as for
        `log_likelihood`; without splits of its own it is the split "all". With `split`, only that
        one is scored. Files are read piece by piece. Raises `InputError`.
        """
        sink = Sink()
        scores: dict[str, Score] = {}
        pieces: Iterable[tuple[str, Table]]
        if isinstance(source, str | Path):
            what = f"`{source}`"
            pieces = stream_table(str(source), sink, columns=self.columns, progress=progress)
        else:
            what = "an array"
            rows = Table(self._checked(source))
            pieces = ((UNSPLIT, piece) for piece in (Table(rows.values[:0]), *rows.pieces()))
        seen = set()
        for name, piece in pieces:
            seen.add(name)
            if split in (None, name):
                batch = self.engine.load(piece.distinct(), once=True)
                found = self.engine.score(self.parameters, batch)
                scores[name] = scores.get(name, Score()) + found
        if split is not None and split not in seen and not sink.failed:
            hint = did_you_mean(split, seen)
            sink.error("E318", f"{what} has no split `{split}`", help=hint)
        sink.stop()
        return scores

    def mutual_information(self, progress: Progress | None = None) -> NDArray[np.float64]:
        """Return the exact mutual information of every two columns, `[column, column]`, in nats.

        The diagonal is zero. `progress` is called with the number of queries that are done.
        """
        return mutual_information(pair_probabilities(self.engine, self.parameters, progress))

    def sample(self, rows: int, seed: int = 0) -> Rows:
        """Return rows drawn from the model; the same seed gives the same rows.

        They print as a table of labels, dates and numbers; their `values[row, column]` are what
        queries take. Raises `InputError` for a negative number of rows or seed.
        """
        sink = Sink()
        for name, value in (("rows", rows), ("seed", seed)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
                sink.error("E505", f"`{name}` is {value!r}", help="give a whole number, 0 or more")
        sink.stop()
        stream = random_stream(seed, "sample")
        return Rows(self.columns, sample(self.program, self.parameters, rows, stream))

    def graph(self) -> Graph:
        """Return the circuit as a networkx graph."""
        return lift(self.program, self.parameters)

    @gc_paused()
    def finished(self) -> Model:
        """Return the model for use, not for training: equal parts shared, dead edges dropped."""
        graph = passes.run(self.graph(), passes.AFTER_TRAINING, keep=False)
        program, parameters = lower(graph)
        return Model(self.name, program, parameters, self.provenance, self.backend)

    def save(self, path: str | Path) -> None:
        """Write the model file; an existing one is replaced only by a complete one."""
        write_bytes(Path(path), to_bytes(self))

    def _checked(self, values: ArrayLike) -> NDArray[np.float64]:
        sink = Sink()
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            sink.error("E505", "the values are not numbers", help="NaN stands for a missing value")
            sink.stop()
            raise
        if array.ndim == 1:
            array = array[None, :]
        if array.ndim != 2 or array.shape[1] != len(self.columns):
            wanted = counted(len(self.columns), "column")
            sink.error(
                "E505",
                f"the values have the shape {array.shape}, the model has {wanted}",
                help="give one row per case and one column per variable: "
                + listed([c.name for c in self.columns]),
            )
            sink.stop()
        for i, column in enumerate(self.columns):
            cells = array[:, i]
            good = np.isnan(cells) | _possible(column, cells)
            if not good.all():
                row = int(np.argmin(good))
                bad = counted(int((~good).sum()), "value")
                sink.error(
                    "E308",
                    f"column `{column.name}` has {bad} that it cannot have",
                    notes=[f"the first is {cells[row]:g}, in row {row}"],
                    help=f"it is {column}: {_allowed(column)}, or NaN where missing",
                )
        sink.stop()
        return array


def _possible(column: Column, cells: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values a column can have, leaving missing ones aside."""
    if column.kind in ("real", "date"):
        return np.isfinite(cells)
    most = column.states - 1 if column.is_finite else np.finfo(np.float64).max
    found: NDArray[np.bool_] = (cells >= 0) & (cells <= most) & (np.floor(cells) == cells)
    return found


def _allowed(column: Column) -> str:
    """Return in words which numbers a column can have."""
    if not column.is_finite:
        return "whole numbers from 0" if column.kind == "count" else "finite numbers"
    codes = f"0 to {column.states - 1}"
    return codes if column.labels is None else f"the codes {codes} of {column_text(column)}"


def to_bytes(model: Model) -> bytes:
    """Return the content of the model's file."""
    return file_content(SavedModel(model.name, model.program, model.parameters, model.provenance))


def read_model(path: Path, sink: Sink) -> Model | None:
    """Return the model in a file, or None after reporting why it cannot be used."""
    saved = read_model_file(path, sink)
    if saved is None:
        return None
    return Model(saved.name, saved.program, saved.parameters, saved.provenance)

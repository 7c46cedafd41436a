"""`Model`: a program with its parameters and its provenance.

A model file is a safetensors file: named arrays and one text of JSON. Reading it executes
nothing. The same model gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc import passes
from spnc.backends import Backend, Engine
from spnc.common.atomic import write_bytes
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.common.views import model_html, model_text
from spnc.data.columns import Column
from spnc.data.dataset import UNSPLIT, Table
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.pairs import mutual_information
from spnc.data.stream import stream_table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, counted, did_you_mean, listed
from spnc.graph.nodes import Graph
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.program import LeafTable, Parameters, Program, Segment
from spnc.program.score import Score
from spnc.program.validity import program_problems
from spnc.queries.pairwise import pair_probabilities
from spnc.queries.sample import sample
from spnc.registry import BACKENDS, LEAVES
from spnc.registry.usage import report_absent_leaves

FORMAT = "spnc-model"
VERSION = 2  # with labels, scales and units of columns
PLAIN_VERSION = 1  # without


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
        columns = [(c.name, str(c)) for c in self.columns]
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
        """How tables are matched with the columns: names, row weights, unseen categories."""
        return TableRules.from_json(self.provenance.get("table"))

    @property
    def engine(self) -> Engine:
        """The program opened on the model's backend."""
        if self._engine is None:
            self._engine = self.backend.open(self.program)
        return self._engine

    def log_likelihood(self, data: Any) -> NDArray[np.float64]:
        """Return log p(row) for the rows of a data frame, a dict of columns or an array.

        Columns with names are matched by name, in any order; an absent one is missing in every
        row. Arrays have the columns in the model's order, texts as their codes. Missing cells are
        marginalised. An impossible row has -inf. Raises `InputError` for unknown columns, and for
        values that no column can have.
        """
        pieces = self.table_of(data).pieces()
        return np.concatenate([np.empty(0), *map(self._log_likelihood, pieces)])

    def table_of(self, data: Any) -> Table:
        """Return a data frame, a dict of columns or an array as a table of the model's columns.

        Raises `InputError`.
        """
        sink = Sink()
        raw = raw_from_python(data, sink)
        sink.stop()
        assert raw is not None
        if raw.names is None and raw.width not in (len(self.columns), len(self.rules.names)):
            shape = (raw.rows, raw.width)
            wanted = counted(len(self.columns), "column")
            sink.error(
                "E505",
                f"the values have the shape {shape}, the model has {wanted}",
                help="give one row per case and one column per variable: "
                + listed([c.name for c in self.columns]),
            )
            sink.stop()
        columns = self.columns if raw.names is not None else tuple(map(_by_code, self.columns))
        found = load_table(raw, sink, columns=columns, rules=self.rules)
        return sink.require(found).splits[UNSPLIT]

    def _log_likelihood(self, table: Table) -> NDArray[np.float64]:
        """Return log p of the rows of a valid table; equal rows are computed once."""
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
            what = f"`{source}`"
            pieces = stream_table(
                str(source), sink, columns=self.columns, rules=self.rules, progress=progress
            )
        else:
            what = "the given data"
            rows = self.table_of(source)
            pieces = ((UNSPLIT, piece) for piece in (rows.take(slice(0)), *rows.pieces()))
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

    def sample(self, rows: int, seed: int = 0) -> NDArray[np.float64]:
        """Return rows drawn from the model, `[row, column]`; the same seed gives the same rows.

        Raises `InputError` for a negative number of rows or seed.
        """
        sink = Sink()
        for name, value in (("rows", rows), ("seed", seed)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
                sink.error("E505", f"`{name}` is {value!r}", help="give a whole number, 0 or more")
        sink.stop()
        return sample(self.program, self.parameters, rows, random_stream(seed, "sample"))

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


def _by_code(column: Column) -> Column:
    """Return a column as arrays of numbers hold it: texts by their codes."""
    texts = all(isinstance(label, str) for label in column.labels or (0,))
    return replace(column, labels=None) if texts else column


def to_bytes(model: Model) -> bytes:
    """Return the content of a model file."""
    from safetensors.numpy import save

    program, parameters = model.program, model.parameters
    tensors: dict[str, NDArray[Any]] = {
        "segments": np.array(
            [(s.is_sum, s.first, s.last, s.first_slot) for s in program.segments], dtype=np.int64
        ).reshape(-1, 4),
        "starts": np.concatenate([*(s.starts for s in program.segments), _NO_INTS]),
        "children": np.concatenate([*(s.children for s in program.segments), _NO_INTS]),
        "weights": parameters.weights,
    }
    for i, (leaf, table) in enumerate(zip(program.leaves, parameters.tables, strict=True)):
        tensors[f"leaves.{i}.variables"] = leaf.variables
        tensors[f"leaves.{i}.parameters"] = np.ascontiguousarray(table)
    columns = [column.as_json() for column in program.columns]
    about = {
        "format": FORMAT,
        "version": PLAIN_VERSION if all(isinstance(c, list) for c in columns) else VERSION,
        "name": model.name,
        "columns": columns,
        "leaves": [[t.distribution, t.states, t.first] for t in program.leaves],
        "root": program.root,
        "layers": program.layers,
        "provenance": model.provenance,
    }
    # One key only: the order of several would change from run to run.
    return save(tensors, metadata={FORMAT: json.dumps(about, sort_keys=True)})


_NO_INTS = np.empty(0, dtype=np.int64)


def _why_unreadable(path: Path) -> tuple[str, str | None] | None:
    """Return why a file cannot be opened, and what to do about it; None if it can."""
    try:
        if path.is_dir():
            inside = path / "model.spnc"
            hint = "the model of a run folder is RUN/model.spnc"
            return "it is a folder", f"did you mean `{inside}`?" if inside.is_file() else hint
        if path.exists() and not path.is_file():  # opening a pipe could wait forever
            return "it is not a regular file", None
        path.open("rb").close()
    except FileNotFoundError:
        return "there is no such file", None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        return getattr(error, "strerror", None) or str(error), None
    return None


def read_model(path: Path, sink: Sink) -> Model | None:
    """Return the model in a file, or None after reporting why it cannot be used."""
    from safetensors import SafetensorError, safe_open

    where = str(path)
    unreadable = _why_unreadable(path)
    if unreadable is not None:
        reason, help = unreadable
        sink.error("E114", f"cannot read `{path}`: {reason}", where=where, help=help)
        return None
    try:
        with safe_open(where, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        sink.error(
            "E501",
            "this is not a model file, or it is damaged",
            where=where,
            notes=[reason],
            help="models are written by `spnc train` and `spnc compile -o`",
        )
        return None
    if FORMAT not in metadata:
        sink.error(
            "E502",
            "this file holds arrays, but not a model of spnc",
            where=where,
            notes=[f"arrays: {listed(sorted(tensors))}"] if tensors else [],
            help="models are written by `spnc train` and `spnc compile -o`",
        )
        return None
    try:
        about = json.loads(metadata[FORMAT])
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        sink.error("E504", "the model's description is not readable", where=where)
        return None
    if about.get("version") not in (PLAIN_VERSION, VERSION):
        sink.error(
            "E503",
            f"the model is of format version {about.get('version')}; "
            f"this spnc reads versions {PLAIN_VERSION} to {VERSION}",
            where=where,
            help="install the version of spnc that wrote it, or train again",
        )
        return None
    if report_absent_leaves(about, where, sink):
        return None
    try:
        model = _from_parts(about, tensors)
        problems = list(program_problems(model.program, model.parameters))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        problems = [f"there is no {error}" if isinstance(error, KeyError) else str(error)]
    if problems:
        message, help = (
            "the model's arrays do not fit together",
            "the file was changed; train again",
        )
        sink.error("E504", message, where=where, notes=problems, help=help)
        return None
    return model


def _from_parts(about: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Model:
    """Return the model in a file's parts; raises many kinds of errors if they are damaged."""
    if not (
        isinstance(about["name"], str)
        and isinstance(about["provenance"], dict)
        and all(type(about[key]) is int for key in ("root", "layers"))
        and all(_are(leaf, str, int, int) for leaf in about["leaves"])
    ):
        raise ValueError("its description is not that of a model")
    columns = tuple(map(Column.from_json, about["columns"]))
    tables = tuple(tensors[f"leaves.{i}.parameters"] for i in range(len(about["leaves"])))
    leaves = []
    for i, (distribution, states, first) in enumerate(about["leaves"]):
        variables, table = tensors[f"leaves.{i}.variables"], tables[i]
        if ((variables < 0) | (variables >= len(columns))).any():
            raise ValueError("a leaf names a column that does not exist")
        if any(columns[v].states != states for v in variables.tolist()):
            raise ValueError("a leaf and its column have different numbers of states")
        if table.ndim != 2 or table.shape[1] != (LEAVES[distribution].arity or table.shape[1]):
            raise ValueError(f"a table of {distribution} leaves has the wrong shape")
        known = LeafColumns.of(columns, variables)
        leaves.append(LeafTable(distribution, table.shape[1], first, variables, known))
    segments = []
    start = edge = 0
    for is_sum, first, last, first_slot in tensors["segments"].tolist():
        starts = tensors["starts"][start : start + last - first + 1]
        children = tensors["children"][edge : edge + int(starts[-1])]
        segments.append(Segment(bool(is_sum), first, last, starts, children, first_slot))
        start += len(starts)
        edge += len(children)
    program = Program(columns, tuple(leaves), tuple(segments), about["root"], about["layers"])
    parameters = Parameters(tensors["weights"], tables)
    return Model(about["name"], program, parameters, about["provenance"])


def _are(values: Any, *types: type) -> bool:
    """Return whether a list holds values of exactly these types."""
    return isinstance(values, list) and [type(v) for v in values] == list(types)

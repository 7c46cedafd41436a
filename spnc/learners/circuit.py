"""A component written by hand or by another program, or a model trained earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from spnc import checks
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink, listed, read_source
from spnc.graph.copying import copy_below
from spnc.graph.files import read_circuit
from spnc.graph.nodes import Graph, Leaf, find_root, payloads
from spnc.learners import LearningTask
from spnc.leaves.numeric import as_numeric
from spnc.model import read_model
from spnc.registry import LEARNERS, Options, option
from spnc.registry.reads import Source

# Circuits that `verify` has read, for `learn` to take: a large file is read once.
_VERIFIED: dict[tuple[Path, int, int], Graph] = {}
_MOST_VERIFIED = 2  # graphs may be large
_ON_WARPS: dict[tuple[Path, int, int], bool] = {}  # whether circuits have leaves on warps


@LEARNERS.register("circuit")
@dataclass(frozen=True, kw_only=True)
class Circuit(Options):
    """A circuit from a file, or a trained model, taken as it is; columns are matched by name."""

    reads: ClassVar[tuple[Source, ...]] = ()

    file: str = option(
        doc="a circuit (.spn, .json in node-link form, .graphml) or a model (.spnc)",
        path=True,
    )

    def learn(self, task: LearningTask) -> int | None:
        """Add a copy of the circuit. Return its root, or None if it does not match the data."""
        graph = _VERIFIED.pop(self._stamp(), None) or self.read(task.sink)
        if graph is None or not self.fits(graph, task.columns, task.sink):
            return None
        if not self._has_warps_of(graph, task.columns, task.sink):
            return None
        position = {c.name: i for i, c in enumerate(task.columns)}
        variables = {i: position[c.name] for i, c in enumerate(graph.graph["columns"])}
        root = find_root(graph)
        return copy_below(task.builder, graph, root, variables)[root]

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report if the file has no valid circuit, or one over other columns than the data's."""
        graph = self.read(sink)
        if graph is None:
            return
        if dataset is not None:
            self.fits(graph, dataset.columns, sink)
        for old in list(_VERIFIED)[: -(_MOST_VERIFIED - 1)]:
            _VERIFIED.pop(old, None)
        _VERIFIED[self._stamp()] = graph
        _ON_WARPS[self._stamp()] = bool(_warped(graph))

    @property
    def needs_warps(self) -> bool:
        """Whether leaves of the circuit are normal on their columns' warps."""
        stamp = self._stamp()
        if stamp not in _ON_WARPS:
            graph = self.read(Sink())
            _ON_WARPS[stamp] = graph is not None and bool(_warped(graph))
        return _ON_WARPS[stamp]

    def _has_warps_of(self, graph: Graph, columns: Sequence[Column], sink: Sink) -> bool:
        """Return whether leaves on warps mean the same over these columns; report if not."""
        data = {c.name: c for c in columns}
        own = [graph.graph["columns"][i] for i in _warped(graph)]
        notes = [
            f"`{c.name}` has another warp in the circuit than in the data"
            for c in own
            if c.warp != data[c.name].warp
        ]
        if notes:
            sink.error(
                "E222",
                f"leaves of `{self.file}` are normal on other warps than those of the data",
                self.span_of("file"),
                notes=notes,
                help="warps come from the training rows: take a model that was trained on the same",
            )
        return not notes

    def _stamp(self) -> tuple[Path, int, int]:
        """Return what changes when the file does."""
        path = self.base("file") / self.file
        try:
            about = path.stat()
        except OSError:
            return path, 0, 0
        return path.resolve(), about.st_mtime_ns, about.st_size

    def read(self, sink: Sink) -> Graph | None:
        """Return the circuit in the file, or None after reporting why it is not valid."""
        path = self.base("file") / self.file
        if path.suffix.lower() == ".spnc" and path.is_file():
            model = read_model(path, sink)
            return model.graph() if model is not None else None
        before = len(sink.diagnostics)
        source = read_source(path, sink, self.span_of("file"))
        graph = read_circuit(source, sink) if source is not None else None
        if graph is not None:
            checks.check(graph, sink)
        return graph if len(sink.diagnostics) == before else None

    def fits(self, graph: Graph, columns: Sequence[Column], sink: Sink) -> bool:
        """Return whether the circuit has exactly the columns of the data; report differences.

        Its leaves must not be narrower than the resolution that the data has (E209). The columns
        of the graph become those of the data.
        """
        own = {c.name: c for c in graph.graph["columns"]}
        data = {c.name: c for c in columns}
        notes = []
        if extra := [n for n in own if n not in data]:
            notes.append(f"not in the data: {listed(extra)}")
        if missing := [n for n in data if n not in own]:
            notes.append(f"not in the circuit: {listed(missing)}")
        notes += [
            f"`{n}` is {own[n]} in the circuit and {data[n]} in the data"
            for n in own
            if n in data and str(own[n]) != str(data[n])
        ]
        notes += [
            f"`{n}` has other labels in the circuit than in the data, or in another order"
            for n in own
            if n in data and str(own[n]) == str(data[n]) and own[n].labels != data[n].labels
        ]
        if notes:
            sink.error(
                "E222",
                f"the variables of `{self.file}` are not the columns of the data",
                self.span_of("file"),
                notes=notes,
                help="a component models exactly the columns of the data",
            )
            return False
        # The warps stay: leaves of the circuit may be normal on them.
        found = tuple(replace(data[c.name], warp=c.warp) for c in graph.graph["columns"])
        if found == graph.graph["columns"]:
            return True
        graph.graph["columns"] = found
        before = len(sink.diagnostics)
        checks.check(graph, sink)
        return len(sink.diagnostics) == before


def _warped(graph: Graph) -> list[int]:
    """Return the columns, by number, over which leaves are normal on the warp."""
    leaves = [node for node in payloads(graph).values() if isinstance(node, Leaf)]
    numeric = [leaf for leaf in leaves if not type(leaf.distribution).is_finite]
    return sorted({n.variable for n in numeric if as_numeric(type(n.distribution)).needs_warp})

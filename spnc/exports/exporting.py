"""`Exporting`: circuits for other programs. Its methods are those of `Model`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spnc.common.atomic import write_bytes
from spnc.diagnostics import Sink, writing

if TYPE_CHECKING:
    from networkx import DiGraph

    from spnc.graph.nodes import Graph


class Exporting(ABC):
    """A circuit that can be written for other programs; see `Model`."""

    name: str

    @abstractmethod
    def graph(self) -> Graph:
        """Return the circuit as a networkx graph."""

    def to_networkx(self) -> DiGraph[Any]:
        """Return the circuit as a networkx graph with plain attributes, which any tool can read.

        Nodes have `kind`, leaves also `variable`, `distribution` and `p`; edges of sums have
        `weight`. `spnc.from_networkx` returns a model again.
        """
        from spnc.graph.interchange import to_networkx

        found = to_networkx(self.graph())
        found.graph["name"] = self.name
        return found

    def to_spflow(self) -> Any:
        """Return the circuit as objects of SPFlow 0.0.48, which has to be installed: its root.

        Raises `InputError` for leaves that SPFlow does not have.
        """
        from spnc.exports.spflow.writing import to_spflow

        sink = Sink()
        return sink.require(to_spflow(self.graph(), sink))

    def export(
        self,
        path: str | Path,
        format: str | None = None,
        *,
        depth: int | None = None,
        force: bool = False,
    ) -> None:
        """Write the circuit for other programs: dot, svg, graphml, json, spn or onnx.

        The format is that of the suffix, unless it is given. Drawings (dot, svg) show `depth`
        layers below the root, and those too large to be read are refused unless `force`. An
        existing file is replaced only by a complete one. Raises `InputError`.
        """
        from spnc.exports.formats import Request, exported, find_format

        sink = Sink()
        found = sink.require(find_format(format, Path(path), sink))
        if not found.is_drawing and (depth is not None or force):
            raise ValueError(f"`depth` and `force` are for drawings, not {found.name}")
        if depth is not None and depth < 1:
            raise ValueError("`depth` is at least 1")
        request = Request(graph=self.graph(), name=self.name, depth=depth, force=force)
        content = exported(request, found, sink)
        with writing(path):
            write_bytes(Path(path), content)

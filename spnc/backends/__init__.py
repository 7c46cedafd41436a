"""Backends: ways to compute with a `Program`. The NumPy backend defines the results."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.data.table import Table
from spnc.diagnostics import Diagnostic
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score


class Engine(Protocol):
    """A program opened on a backend.

    An engine that plans its passes may count the seconds in an attribute `planning`, which a run
    reports apart from those of training, and say in `loads_at_once` how many tables may be loaded
    by different threads at the same time (without it, one).
    """

    program: Program

    def load(self, table: Table, *, once: bool = False) -> Any:
        """Lay out rows for this engine; the result is used for every pass over them.

        `once` says that there will be a single pass: the layout should not cost more than it saves.
        """
        ...

    def log_likelihood(self, parameters: Parameters, batch: Any) -> Floats:
        """Return log p(row) for every loaded row; missing values are marginalised."""
        ...

    def score(self, parameters: Parameters, batch: Any) -> Score:
        """Return how well the loaded rows are explained."""
        ...

    def expected_counts(self, parameters: Parameters, batch: Any) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        ...

    def node_values(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the value of each of these nodes for each row, `[node, row]`.

        Values are likelihood ratios: a node's probability of the row's cells in its scope, divided
        by their probability in the reference distribution of the table, in which columns are
        independent (`spnc.backends.planning.reference_distribution`). So nodes of the same scope
        compare as their probabilities do, and wide scopes do not underflow. A ratio beyond the
        range of doubles may come out as zero, infinity or NaN, and one that is too small to matter
        to the root as zero.

        `table` is not loaded first: this is for circuits that are asked once, such as those that
        residual strategies compare, where a layout would cost more than it saves.
        """
        ...

    def node_values_and_flows(
        self, parameters: Parameters, table: Table, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """Return `node_values`, and the flow through each of the nodes for each row.

        The weight of a row enters at the root, unless the row is impossible. Flows are exact for
        every row, however improbable.
        """
        ...

    def node_flows(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the flows of `node_values_and_flows` alone."""
        ...


class Backend(Protocol):
    """A way of computing, chosen by name in a spec."""

    plugin_name: ClassVar[str]
    priority: ClassVar[int]  # `auto` takes the backend with the highest of those that can run

    def why_not(self) -> Diagnostic | None:
        """Return why the backend cannot run on this machine; None if it can."""
        ...

    def expected_here(self) -> bool:
        """Whether the machine looks set up for the backend, so that users expect it to be used.

        If `auto` cannot use an expected backend, it says why.
        """
        ...

    def prepare(self, program: Program, progress: Progress) -> Diagnostic | None:
        """Make what is made once per machine, such as compiled code, and report progress.

        Return a warning if it cannot be kept, or None.
        """
        ...

    def open(self, program: Program) -> Engine:
        """Return an engine for the program."""
        ...

    def resolved(self) -> Backend:
        """Return the backend that does the work: itself, or the one that `auto` chose."""
        ...

"""The commands of `benchmarks.asking`: build a circuit, then time single questions to it.

Imported by workers in the environments of the libraries that they measure, so this file imports
only NumPy, the standard library and `speed_protocol`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from speed_protocol import Circuit, Rows, UnableError, peak_mb, reply_by, timed


class Asked(Protocol):
    """A library that is asked questions about one circuit."""

    version: str

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Take the circuit and the rows of the question; return what is to be reported."""
        ...

    def call(self) -> NDArray[Any]:
        """Return the log-likelihoods of all rows; missing cells are marginalised."""
        ...

    def sample(self, rows: int) -> NDArray[Any]:
        """Return this many rows drawn from the circuit."""
        ...

    def complete(self) -> NDArray[Any]:
        """Return the rows with their missing cells drawn, given the known ones."""
        ...


def serve_questions(system: Asked) -> None:
    """Reply to commands until the input ends."""

    def answered(command: dict[str, Any]) -> dict[str, Any]:
        if command["do"] == "build":
            with np.load(command["circuit"]) as arrays:
                circuit = dict(arrays.items())
            told = system.build(circuit, np.load(command["rows"]))
            return {"version": system.version, **told}
        name = command["do"]
        work = getattr(system, name, None)  # `pairs`, which only spnc has, among others
        if work is None:
            raise UnableError(f"it has no `{name}`")
        given = (command["count"],) if name == "sample" else ()
        spent, found = timed(lambda: work(*given), command["fill"], lambda: None)
        mean = float(np.asarray(found, dtype=np.float64).mean())
        return {**spent, "mean": mean, "peak_mb": peak_mb()}

    reply_by(answered)

"""spnc: a compiler for tractable density models.

    model = spnc.compile("circuit.spn")         # or a spec, a networkx graph, node-link data
    run = spnc.train("specs/quickstart.yaml")   # run.model, run.fitted, run.scores
    best = spnc.train_auto("rows.csv", "10min") # chooses a recipe; best.recipe
    spnc.load("model.spnc").log_likelihood(X)
    spnc.report("runs/quickstart")              # one HTML page about a run; returns its path
    spnc.check("circuit.spn")                   # a list of diagnostics, empty if all is well

Importing this is cheap: what a name needs is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` for it would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from spnc.api import check, compile, from_networkx, from_spflow, train, train_auto
    from spnc.diagnostics import Diagnostic, InputError
    from spnc.model import Model, load
    from spnc.reports.build import report
    from spnc.runs.interruption import Interrupted
    from spnc.trained import Trained

_HOMES = {
    "check": "spnc.api",
    "compile": "spnc.api",
    "from_networkx": "spnc.api",
    "from_spflow": "spnc.api",
    "load": "spnc.model",
    "report": "spnc.reports.build",
    "train": "spnc.api",
    "train_auto": "spnc.api",
    "Diagnostic": "spnc.diagnostics",
    "InputError": "spnc.diagnostics",
    "Interrupted": "spnc.runs.interruption",
    "Model": "spnc.model",
    "Trained": "spnc.trained",
}

__all__ = [
    "Diagnostic",
    "InputError",
    "Interrupted",
    "Model",
    "Trained",
    "check",
    "compile",
    "from_networkx",
    "from_spflow",
    "load",
    "report",
    "train",
    "train_auto",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("spnc-forest")
    if name not in _HOMES:
        raise AttributeError(f"module 'spnc' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

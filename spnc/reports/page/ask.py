"""Questions to the model: the explorer, folded up until it is wanted."""

from __future__ import annotations

from spnc.diagnostics import counted
from spnc.explore.circuit_data import unknown_leaves
from spnc.explore.page import panel
from spnc.reports.facts.gather import Facts
from spnc.reports.page.html import Html, el
from spnc.reports.page.parts import Section

MOST_EDGES = 200_000  # a larger circuit would make the report large and its answers slow


def why_not(facts: Facts) -> str | None:
    """Return why a report does not hold its circuit; None if it does."""
    program = facts.run.model.program
    unknown = unknown_leaves(program)
    if unknown:
        return f"a page cannot evaluate leaves of the kind {', '.join(unknown)}"
    if program.edges > MOST_EDGES:
        return (
            f"the circuit has {counted(program.edges, 'edge')}, more than {MOST_EDGES:,}; "
            "`spnc explore` writes a page of its own for circuits of up to twice that size"
        )
    return None


def section(facts: Facts) -> Section:
    """Return the explorer, or a note on why the report has none."""
    model, why = facts.run.model, why_not(facts)
    if why is not None:
        return Section("ask", "Questions", f"This report cannot be asked: {why}.", Html(""))
    finding = (
        "The whole model is in this page: say what is known about some columns, and all others "
        "answer with their exact distributions."
    )
    body = el(
        "details",
        el("summary", "Ask the model"),
        Html(panel(model.name, model.program, model.parameters, facts.shape)),
        class_="needs-script",
    )
    return Section("ask", "Questions", finding, body)

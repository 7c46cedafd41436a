"""Learners that need columns with finitely many states say which columns they cannot take."""

from __future__ import annotations

from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink, Span, counted, listed

_NAMED = 10  # columns named in a message


def report_numbers(what: str, dataset: Dataset | None, span: Span | None, sink: Sink) -> None:
    """Report columns of numbers or dates (E229), which `what` cannot model."""
    if dataset is None:
        return
    names = [f"`{c.name}` ({c.kind})" for c in dataset.columns if not c.is_finite]
    if names:
        sink.error(
            "E229",
            f"{what} needs columns with finitely many states, but {counted(len(names), 'column')} "
            f"hold{'s' if len(names) == 1 else ''} numbers",
            span,
            notes=[listed(names, _NAMED)],
            help="use `hclt`, `continuous-mixture`, `learn-spn`, `extra-spn` or `rat-spn`; or "
            "declare a column with few different values `categorical`, in `columns` of the section "
            "`data`",
        )

"""Diagnostics as values: collected, required, and shown in a few words."""

from __future__ import annotations

import pytest

from spnc.diagnostics import Diagnostic, InputError, Sink, Source

LONG = Source("long.yaml", "model: m\n" * 10_000)


def test_require_returns_the_value_if_nothing_is_wrong() -> None:
    sink = Sink()
    sink.warning("W301", "only a warning")
    assert sink.require(3) == 3
    assert sink.require("") == ""


def test_require_raises_what_was_reported_whatever_the_value() -> None:
    sink = Sink()
    sink.error("E302", "there is no such file")
    for value in (None, 3):
        with pytest.raises(InputError, match="E302"):
            sink.require(value)


def test_none_without_a_report_is_a_bug_and_no_input_error() -> None:
    with pytest.raises(AssertionError, match="reported no error"):
        Sink().require(None)


def test_reprs_are_short_and_never_show_the_source_text() -> None:
    span = LONG.span(3, 1, 3, 6)
    found = Diagnostic("E101", "x" * 30_000, span=span)
    assert repr(LONG) == "Source('long.yaml', 90,000 characters)"
    assert repr(span) == "Span(long.yaml:3:1 to 3:6)"
    assert repr(found).startswith("Diagnostic(error E101 at long.yaml:3:1: xxx")
    assert len(repr(found)) < 200
    assert repr(Diagnostic("W301", "constant", "warning")) == "Diagnostic(warning W301: constant)"


def test_a_notebook_shows_one_escaped_line() -> None:
    found = Diagnostic("E302", "no file `<b>`", where="a&b.csv", help="give another")
    html = found._repr_html_()
    assert "\n" not in html
    for part in ("error[E302]", "no file `&lt;b&gt;`", "a&amp;b.csv", "give another"):
        assert part in html
    long = Diagnostic("E101", "x" * 30_000, span=LONG.span(1, 1, 2, 1), notes=("y" * 30_000,))
    assert len(long._repr_html_()) < 1000

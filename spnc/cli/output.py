"""Printing for people: aligned tables, lines, diagnostics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from spnc.common.aligned_table import cell, table
from spnc.common.wording import visible
from spnc.diagnostics import Diagnostic, render

__all__ = ["cell", "complain", "say", "table"]


def complain(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, in colour if that is a terminal."""
    found = list(diagnostics)
    if found:
        colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        print(render(found, colour=colour), file=sys.stderr)


def say(text: str = "", *, aside: bool = False) -> None:
    """Print lines for people, to standard error with `aside`.

    All text for people is printed here: hidden characters are made visible, so that a name in a
    table cannot send commands to the terminal.
    """
    print(visible(text, keep="\n"), file=sys.stderr if aside else sys.stdout)

"""Arguments of questions from Python: columns by name, whole numbers, shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spnc.data.columns import Column
from spnc.diagnostics import Sink, did_you_mean


def column_places(columns: Sequence[Column], names: Iterable[str], sink: Sink) -> list[int]:
    """Return the numbers of columns, given their names; report every unknown one (E508)."""
    known = {column.name: i for i, column in enumerate(columns)}
    found = []
    for name in names:
        if name in known:
            found.append(known[name])
        else:
            hint = did_you_mean(name, known)
            sink.error("E508", f"the model has no column `{name}`", help=hint)
    return list(dict.fromkeys(found))


def check_whole(name: str, value: Any, sink: Sink, least: int = 0) -> None:
    """Report what is not a whole number of at least this size (E505)."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        hint = f"give a whole number, {least} or more"
        sink.error("E505", f"`{name}` is {value!r}", help=hint)


def check_share(name: str, value: Any, sink: Sink, *, inside: bool = False) -> None:
    """Report what is not a number from 0 to 1 or, with `inside`, between them."""
    fits = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not fits or not (0.0 < value < 1.0 if inside else 0.0 <= value <= 1.0):
        hint = "give a number between 0 and 1" if inside else "give a number from 0 to 1"
        sink.error("E505", f"`{name}` is {value!r}", help=hint)

"""The datasets that come with spnc: `builtin:NAME`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.data.asia import ASIA_COLUMNS, asia_entropy, asia_log_probability, asia_rows
from spnc.data.dataset import UNSPLIT
from spnc.data.raw_table import RawTable, number_columns
from spnc.diagnostics import Sink, Span, nearest

__all__ = [
    "BUILTINS",
    "NAME_SIMILARITY",
    "Builtin",
    "asia_entropy",
    "asia_log_probability",
    "read_builtin",
]

# Names of datasets are short, and people ask for others by name: suggest only for a typing error.
NAME_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True)
class Builtin:
    """A dataset without a file: its name, a description, and the function that makes its rows."""

    name: str
    description: str
    columns: tuple[str, ...]
    rows: Callable[[], NDArray[np.float64]]


_BLACK_FROM = 8  # of the grey levels 0 to 16


def _digits() -> NDArray[np.float64]:
    from sklearn.datasets import load_digits  # slow to import

    pixels, _ = load_digits(return_X_y=True)
    return np.asarray(pixels >= _BLACK_FROM, dtype=np.float64)


BUILTINS = {
    b.name: b
    for b in (
        Builtin(
            "asia",
            "5,000 rows from the Asia network of Lauritzen and Spiegelhalter, 8 binary columns",
            ASIA_COLUMNS,
            asia_rows,
        ),
        Builtin(
            "digits",
            "1,797 handwritten digits from scikit-learn, 8 by 8 black or white pixels",
            tuple(f"pixel_{r}_{c}" for r in range(8) for c in range(8)),
            _digits,
        ),
    )
}


def read_builtin(name: str, sink: Sink, *, span: Span | None = None) -> dict[str, RawTable] | None:
    """Return the rows of a built-in dataset, not split; None after reporting an unknown name."""
    found = BUILTINS.get(name)
    if found is not None:
        return {UNSPLIT: RawTable(f"builtin:{name}", number_columns(found.rows()), found.columns)}
    hint = f"built-in datasets: {', '.join(f'`builtin:{known}`' for known in sorted(BUILTINS))}"
    near = nearest(name, BUILTINS, NAME_SIMILARITY)
    if near is not None:
        hint = f"did you mean `builtin:{near}`? {hint}"
    sink.error("E301", f"there is no dataset `builtin:{name}`", span, help=hint)
    return None

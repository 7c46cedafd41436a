"""The datasets that come with spnc: `builtin:NAME`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.data.asia import ASIA_COLUMNS, asia_entropy, asia_log_probability, asia_rows
from spnc.data.raw_table import RawTable

__all__ = ["BUILTINS", "NAME_SIMILARITY", "Builtin", "asia_entropy", "asia_log_probability"]

# Names of datasets are short, and people ask for others by name: suggest only for a typing error.
NAME_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True)
class Builtin:
    """A dataset without a file: its name, a description, and the function that makes its rows."""

    name: str
    description: str
    columns: tuple[str, ...]
    rows: Callable[[], NDArray[np.float64]]

    def table(self) -> RawTable:
        """Return all rows, not yet split."""
        return RawTable(f"builtin:{self.name}", self.rows(), self.columns)


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

"""The datasets that come with spnc: `builtin:NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from spnc.data import measurements
from spnc.data.asia import ASIA_COLUMNS, asia_entropy, asia_log_probability, asia_rows
from spnc.data.dataset import UNSPLIT
from spnc.data.penguins import PENGUIN_COLUMNS, PENGUIN_UNITS, penguins
from spnc.data.raw_table import RawColumn, RawTable, number_columns
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
    """A dataset without a file: its name, a description, and the function that makes its cells.

    `units` are those of the columns whose unit is documented.
    """

    name: str
    description: str
    columns: tuple[str, ...]
    cells: Callable[[], list[RawColumn]]
    units: Mapping[str, str] = field(default_factory=dict)


_BLACK_FROM = 8  # of the grey levels 0 to 16


def _asia() -> list[RawColumn]:
    return number_columns(asia_rows())


def _digits() -> list[RawColumn]:
    from sklearn.datasets import load_digits  # slow to import

    pixels, _ = load_digits(return_X_y=True)
    return number_columns(np.asarray(pixels >= _BLACK_FROM, dtype=np.float64))


BUILTINS = {
    b.name: b
    for b in (
        Builtin(
            "asia",
            "5,000 rows from the Asia network of Lauritzen and Spiegelhalter, 8 binary columns",
            ASIA_COLUMNS,
            _asia,
        ),
        Builtin(
            "digits",
            "1,797 handwritten digits from scikit-learn, 8 by 8 black or white pixels",
            tuple(f"pixel_{r}_{c}" for r in range(8) for c in range(8)),
            _digits,
        ),
        Builtin(
            "iris",
            "150 flowers from scikit-learn: four lengths in cm, and the species",
            measurements.IRIS_COLUMNS,
            measurements.iris,
            measurements.IRIS_UNITS,
        ),
        Builtin(
            "penguins",
            "344 penguins of three species: island, four measurements, sex and year; some missing",
            PENGUIN_COLUMNS,
            penguins,
            PENGUIN_UNITS,
        ),
        Builtin(
            "wine",
            "178 wines from scikit-learn: 13 chemical measurements, and the cultivar",
            measurements.WINE_COLUMNS,
            measurements.wine,
        ),
        Builtin(
            "breast-cancer",
            "569 tumours from scikit-learn: 30 measurements of cell nuclei, and the diagnosis",
            measurements.BREAST_CANCER_COLUMNS,
            measurements.breast_cancer,
        ),
        Builtin(
            "diabetes",
            "442 patients from scikit-learn: ten measurements as taken, and the disease a year on",
            measurements.DIABETES_COLUMNS,
            measurements.diabetes,
            measurements.DIABETES_UNITS,
        ),
    )
}


def read_builtin(name: str, sink: Sink, *, span: Span | None = None) -> dict[str, RawTable] | None:
    """Return the rows of a built-in dataset, not split; None after reporting an unknown name."""
    found = BUILTINS.get(name)
    if found is not None:
        cells, where = found.cells(), f"builtin:{name}"
        return {UNSPLIT: RawTable(where, cells, found.columns, units=found.units)}
    hint = f"built-in datasets: {', '.join(f'`builtin:{known}`' for known in sorted(BUILTINS))}"
    near = nearest(name, BUILTINS, NAME_SIMILARITY)
    if near is not None:
        hint = f"did you mean `builtin:{near}`? {hint}"
    sink.error("E301", f"there is no dataset `builtin:{name}`", span, help=hint)
    return None

"""Measured things with their classes, from scikit-learn: flowers, wines, patients and tumours."""

from __future__ import annotations

from typing import Any

from spnc.data.raw_table import RawColumn, number_columns, text_column

IRIS_COLUMNS = ("sepal_length", "sepal_width", "petal_length", "petal_width", "species")
IRIS_UNITS = dict.fromkeys(IRIS_COLUMNS[:4], "cm")
WINE_COLUMNS = (
    "alcohol",
    "malic_acid",
    "ash",
    "alcalinity_of_ash",
    "magnesium",
    "total_phenols",
    "flavanoids",
    "nonflavanoid_phenols",
    "proanthocyanins",
    "colour_intensity",
    "hue",
    "od280_od315",
    "proline",
    "cultivar",
)
DIABETES_COLUMNS = (
    "age",
    "sex",
    "bmi",
    "blood_pressure",
    "total_cholesterol",
    "ldl",
    "hdl",
    "cholesterol_ratio",
    "log_triglycerides",
    "glucose",
    "progression",
)
DIABETES_UNITS = {"age": "years", "bmi": "kg/m²"}
_NUCLEUS = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave_points",
    "symmetry",
    "fractal_dimension",
)
BREAST_CANCER_COLUMNS = (
    *(f"{what}_{name}" for what in ("mean", "error", "worst") for name in _NUCLEUS),
    "diagnosis",
)


def iris() -> list[RawColumn]:
    """Return four lengths of each flower, and its species."""
    from sklearn.datasets import load_iris  # slow to import

    return _measured(load_iris())


def wine() -> list[RawColumn]:
    """Return the chemical analysis of each wine, and its cultivar."""
    from sklearn.datasets import load_wine

    return _measured(load_wine())


def breast_cancer() -> list[RawColumn]:
    """Return the shapes of cell nuclei of each tumour, and its diagnosis."""
    from sklearn.datasets import load_breast_cancer

    return _measured(load_breast_cancer())


def diabetes() -> list[RawColumn]:
    """Return what was measured of each patient, and how far the disease got within a year."""
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    return number_columns(found.data) + number_columns(found.target[:, None])


def _measured(found: Any) -> list[RawColumn]:
    """Return the numbers of a dataset, then its classes as words."""
    return [*number_columns(found.data), text_column(found.target_names[found.target].tolist())]

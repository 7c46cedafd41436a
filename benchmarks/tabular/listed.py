"""Figures that come with the tables: average test log-likelihoods of dequantised rows.

Measured once with one seed, and choices made on validation rows, says the tables' documentation.
"""

from __future__ import annotations

SOURCE = "the tables' documentation"

_ALL = """
abalone      0.79    1.47  10.02  10.11   9.25   9.13   9.72
adult      -18.94  -17.95 -21.55 -15.70 -30.53 -34.13 -17.38
australian -25.33  -19.54 -26.72 -28.15 -29.58 -31.34 -26.25
breast     -27.64  -27.60 -25.60 -25.53 -28.61 -30.87 -25.21
chess      -13.14       - -12.12 -12.11 -12.12 -13.05 -11.56
german     -26.45  -26.45 -25.56 -25.67 -25.71 -26.70 -25.33
student    -30.28       - -29.64 -30.05 -29.64 -29.45 -28.89
wine        -6.31   -0.19  -3.68  -4.24  -3.78  -4.94  -1.71
"""
_ALL_SYSTEMS = (
    "independent",
    "atoms",
    "spflow-histogram",
    "spflow-piecewise",
    "spflow-parametric",
    "spflow-1.1.0",
    "random-forests",
)

_REAL = """
abalone      4.37    5.04   14.01    1.49  14.32
adult       -1.40   -0.41   -1.72  -15.77  -6.22
australian -20.80  -15.02  -24.99  -31.70 -24.08
breast     -13.62  -13.58 -154.9  -173.6  -16.33
german      -4.41   -4.41   -4.35   -4.33  -4.36
wine        -5.05    1.06   -1.64   -1.58  -1.36
"""
_REAL_SYSTEMS = ("independent", "atoms", "gaussian-mixture", "kernel-density", "spline-flow")


def _read(text: str, systems: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Return the figures by table and system."""
    found = {}
    for line in text.strip().splitlines():
        name, *cells = line.split()
        pairs = zip(systems, cells, strict=True)
        found[name] = {system: float(cell) for system, cell in pairs if cell != "-"}
    return found


LISTED = {"all": _read(_ALL, _ALL_SYSTEMS), "real": _read(_REAL, _REAL_SYSTEMS)}

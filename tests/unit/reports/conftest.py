"""Four finished reports, and one browser for all tests that look at them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spnc.cli import main
from tests.browser import Tab, browser

SPEC = """
model: digits
data: {source: builtin:digits, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 400, beta: {search: [0.3, 0.6]}}
optimizer: {max_iterations: 12}
backend: numpy
"""
ASIA = """
model: asia
data: {source: builtin:asia, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 300}
optimizer: {max_iterations: 4}
backend: numpy
"""
# Long names, with and without blanks, and a search over six options: tables that are too wide.
LONG_NAMES = [
    f"average monthly household expenditure, category {i}"
    if i % 2
    else f"questionnaire_response_item_without_any_blank_{'x' * 40}_{i}"
    for i in range(20)
]
WIDE = """
model: wide
data: {source: rows.csv, split: [0.6, 0.2, 0.2], header: yes}
forest:
  - learner: extra-spn
    count: 2
    min_instances: {search: [100, 200]}
    beta: {search: [0.4, 0.6]}
    when_both_fail: {search: [retry, factorise]}
optimizer: {max_iterations: {search: [2, 3]}, patience: {search: [2, 3]}}
seed: {search: [0, 1, 2]}
search: {tries: 16}
backend: numpy
"""


# Labels, counts, numbers with units, and dates.
CIRCUIT = """
circuit penguins
variables {
  species: categorical("Adelie", "Chinstrap", "Gentoo")
  male: binary(false, true)
  eggs: count
  bill_length: real
  body_mass: real
  seen_on: date
}
small = (species ~ categorical(0.5, 0.4, 0.1)) * (eggs ~ poisson(3))
    * (body_mass ~ gaussian(3700, 400))
large = (species ~ categorical(0.1, 0.1, 0.8)) * (eggs ~ poisson(9))
    * (body_mass ~ gaussian(5000, 400))
top = (0.6 small + 0.4 large) * (male ~ bernoulli(0.5)) * (bill_length ~ gaussian(44, 5))
    * (seen_on ~ gaussian(14200, 200))
"""
MIXED = """
model: penguins
data:
  source: penguins.csv
  split: [0.7, 0.15, 0.15]
  columns:
    eggs: count
    bill_length: {kind: real, unit: mm}
    body_mass: {kind: real, unit: g}
forest: [{learner: circuit, file: penguins.spn}]
optimizer: {max_iterations: 5}
backend: numpy
"""


def mixed_rows() -> str:
    """A table of labels, truth values, counts, measurements and dates, some missing, as CSV."""
    rng = np.random.default_rng(0)
    lines = ["species,male,eggs,bill_length,body_mass,seen_on"]
    for kind in rng.integers(3, size=400).tolist():
        cells = [
            ("Adelie", "Chinstrap", "Gentoo")[kind],
            str(bool(rng.random() < 0.5)).lower(),
            str(rng.poisson(3 + 3 * kind)),
            f"{rng.normal(44, 5):.1f}",
            str(25 * round(rng.normal((3700, 3700, 5000)[kind], 350) / 25)),
            str(np.datetime64("2007-11-01") + int(rng.integers(750))),
        ]
        lines.append(",".join("" if rng.random() < 0.03 else cell for cell in cells))
    return "\n".join(lines) + "\n"


def wide_rows() -> str:
    """A table whose columns have long names, as CSV."""
    cells = np.random.default_rng(0).integers(0, 2, size=(150, len(LONG_NAMES)))
    head = ",".join(f'"{name}"' for name in LONG_NAMES)
    return "\n".join([head, *(",".join(map(str, row)) for row in cells.tolist())]) + "\n"


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "rows.csv").write_text(wide_rows())
    found = {}
    (folder / "penguins.csv").write_text(mixed_rows())
    (folder / "penguins.spn").write_text(CIRCUIT)
    for name, spec in (("digits", SPEC), ("asia", ASIA), ("wide", WIDE), ("mixed", MIXED)):
        (folder / f"{name}.yaml").write_text(spec)
        run = folder / name
        assert main(["train", str(folder / f"{name}.yaml"), "--out", str(run), "--quiet"]) == 0
        assert main(["report", str(run), "--quiet", "--backend", "numpy"]) == 0
        found[name] = run / "report.html"
    return found


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(tab: Tab, pages: dict[str, Path]) -> Tab:
    tab.open(pages["digits"])
    return tab

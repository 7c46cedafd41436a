"""Three finished reports, and one browser for all tests that look at them."""

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
    for name, spec in (("digits", SPEC), ("asia", ASIA), ("wide", WIDE)):
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

"""A pytest plug-in that measures coverage in a part of the tests.

    pytest --cov -p tests.coverage_part

Tracing slows Python code down by half before Python 3.12. These tests run every command and many
kinds of specs in little time, so they reach most lines; all other tests run untraced.
"""

from __future__ import annotations

import pytest

from tests.places import ROOT

PART = ("golden", "unit/common")
FOLDERS = tuple(ROOT / "tests" / name for name in PART)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests outside the part; pytest-cov pauses for them."""
    for item in items:
        if not any(item.path.is_relative_to(folder) for folder in FOLDERS):
            item.add_marker("no_cover")

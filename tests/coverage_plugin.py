"""A pytest plug-in that measures coverage.

    pytest -p tests.coverage_plugin && coverage combine && coverage report

What happens while modules are imported counts, and what the tests of `traced` do. Before Python
3.12 tracing makes Python code two to four times slower, so there only one file of tests is traced:
it runs every command and many kinds of specs in little time, and reaches most lines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.places import ROOT

TRACING_IS_CHEAP = sys.version_info >= (3, 12)
if TRACING_IS_CHEAP:
    os.environ.setdefault("COVERAGE_CORE", "sysmon")

import coverage  # noqa: E402 - reads the variable

measured = coverage.Coverage(data_suffix=True, config_file=str(ROOT / "pyproject.toml"))


def traced(item: pytest.Item) -> bool:
    """Whether what this test runs counts."""
    return TRACING_IS_CHEAP or item.path == ROOT / "tests/golden/test_golden.py"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Trace from the first import on."""
    measured.start()


def pytest_collection_finish() -> None:
    """Stop tracing: every module that tests import has been imported."""
    measured.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Trace a test with its fixtures if it counts."""
    if not traced(item):
        return (yield)
    measured.start()
    try:
        return (yield)
    finally:
        measured.stop()


def pytest_unconfigure() -> None:
    """Write what this process has run; `coverage combine` adds the processes up."""
    measured.stop()
    measured.save()

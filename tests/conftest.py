"""What all tests share: hypothesis without a clock, and the option that rewrites goldens."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A busy machine is not a failure; in CI the examples are the same every time.
settings.register_profile("spnc", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("spnc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the commands print now into tests/golden/**/*.expected",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten, not compared."""
    return bool(request.config.getoption("--update-golden"))

"""What all tests share: hypothesis without a clock, and the option that rewrites goldens."""

from __future__ import annotations

import math
import os

import pytest
from hypothesis import settings

from spnc.common import progress_display

# A busy machine is not a failure; in CI the examples are the same every time.
settings.register_profile("spnc", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("spnc")

# What commands print must not depend on how fast the machine is.
progress_display.LINE_SECONDS = math.inf


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

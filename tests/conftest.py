"""What all tests share: the option that rewrites golden files."""

from __future__ import annotations

import pytest


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

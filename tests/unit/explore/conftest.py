"""One browser for all tests that ask pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import Tab, browser


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found

"""Times and sizes with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.quantities import about, bytes_in, seconds_in, size_text, time_text


@given(st.floats(min_value=0, max_value=1e6) | st.integers(0, 10**6).map(float))
def test_times_are_written_as_they_are_read(seconds: float) -> None:
    assert seconds_in(time_text(seconds)) == seconds


@given(
    st.integers(0, 2**52) | st.builds(lambda n, p: n << p, st.integers(1, 99), st.integers(0, 40))
)
def test_sizes_are_written_as_they_are_read(size: int) -> None:
    assert bytes_in(size_text(size)) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("4GB", 4 * 10**9), ("4GiB", 4 << 30), ("0.5 mb", 500_000), ("100", 100)),
        *(("4G", None), ("", None), ("GB", None), ("-1GB", None), ("1GB2MB", None)),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int | None) -> None:
    assert bytes_in(text) == size


def test_sizes_are_rounded_for_people() -> None:
    assert [about(n) for n in (12, 3_200_000_000, 250_400_000)] == ["12 bytes", "3.2 GB", "250 MB"]

"""Questions about bytes have the answers that a plain search gives, wherever pieces end."""

from __future__ import annotations

import re
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from spnc.data import text_bytes
from spnc.data.text_bytes import count_byte, has_hexadecimal, is_plainly_quoted

texts = st.text('0aFxX",;\n', max_size=40).map(str.encode)
pieces = st.integers(1, 7)


@given(texts, pieces)
def test_every_byte_is_counted(text: bytes, size: int) -> None:
    with patch.object(text_bytes, "_PIECE_BYTES", size):
        assert count_byte(text, ord('"')) == text.count(b'"')


@given(texts, pieces)
def test_hexadecimal_numbers_are_found(text: bytes, size: int) -> None:
    with patch.object(text_bytes, "_PIECE_BYTES", size):
        found = has_hexadecimal(text)
    assert found == (re.search(rb"(?<![0-9A-Za-z_])0[xX][0-9A-Fa-f]", text) is not None)


@given(texts, pieces)
def test_quotes_belong_to_whole_cells(text: bytes, size: int) -> None:
    with patch.object(text_bytes, "_PIECE_BYTES", size):
        found = is_plainly_quoted(text, ",")
    cell = rb'(?:"(?:[^"]|"")*"|[^",\n]*)'
    assert found == (re.fullmatch(rb"%b(?:[,\n]%b)*" % (cell, cell), text) is not None)

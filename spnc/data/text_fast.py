"""The fast reader of text tables: regular text, block by block; it declines anything else.

It never guesses: on the text that it accepts, it returns what `text_exact` would. In a regular
text all rows have the same width, none takes more or less than one line, and quotes are only
around whole cells.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from numpy.typing import NDArray

from spnc.common.threads import in_threads, thread_count
from spnc.data.arrow_columns import raw_column, untyped_texts
from spnc.data.raw_table import ColumnParts, RawColumn
from spnc.data.text_bytes import (
    NEWLINE,
    count_byte,
    has_blank_line,
    has_hexadecimal,
    has_padded_number,
    is_plainly_quoted,
    padded_columns,
)
from spnc.data.text_cells import WHITESPACE, is_number
from spnc.data.text_layout import BYTE_ORDER_MARK
from spnc.data.text_values import is_padded

_INFERRED_BYTES = 1 << 17  # from which columns of texts are found
_PART_BYTES = 1 << 20  # that Arrow parses at a time
_LARGEST = 2.0**63  # whole numbers from here on are no integers to Arrow, and would be rounded
_TEXTS = pa.dictionary(pa.int32(), pa.string())


class IrregularTextError(Exception):
    """The text has to be read by the exact reader."""


class FastReader:
    """Parses blocks of whole lines into raw columns; remembers which columns hold texts.

    `as_texts` are columns that are texts in any case, for instance those of a model whose labels
    are texts. With `parallel`, threads parse parts of a block; without, several threads may parse
    blocks once one of them was not `digits_only`.
    """

    def __init__(
        self,
        width: int,
        delimiter: str,
        missing: Sequence[str],
        as_texts: Iterable[int] = (),
        *,
        parallel: bool = True,
    ) -> None:
        self.width, self.delimiter = width, delimiter
        self.missing = sorted({form for m in missing for form in (m, m.strip())})
        self.as_texts = frozenset(as_texts)
        self.parallel = parallel
        self._adding = Lock()
        # A number that marks a missing value has to be compared with every cell.
        self.digits_only = not self.as_texts and not any(is_number(m.strip()) for m in missing)

    def parse(self, block: bytes) -> list[RawColumn]:
        """Return the columns of a block without header. Raises `IrregularTextError`."""
        if not block[:1].strip(b"\n") or block.endswith(b"\n\n"):  # copied only if need be
            block = block.rstrip(b"\n") + b"\n"
        if block == b"\n":
            raise IrregularTextError
        if self.digits_only:
            digits = parse_digits(block, self.delimiter)
            if digits is not None and digits.shape[1] == self.width:
                return [RawColumn("numbers", np.ascontiguousarray(d)) for d in digits.T]
            self.digits_only = False
            self._infer(block[: block.rfind(b"\n", 0, _INFERRED_BYTES) + 1 or None])
        return [_raw(column) for column in self._parsed(block).columns]

    def _infer(self, start: bytes) -> None:
        """Find the columns of texts at the start, so that the block need not be parsed twice."""
        try:
            self._parsed(start)
        except IrregularTextError:
            if b"\n" in start[:-1]:
                raise

    def _parsed(self, block: bytes) -> Any:
        if (
            b"\0" in block
            or block.startswith(BYTE_ORDER_MARK)
            or (b'"' in block and not self._is_plainly_quoted(block))
        ):
            raise IrregularTextError
        if self.width == 1 and has_blank_line(block):
            raise IrregularTextError
        rows = count_byte(block, NEWLINE) + (not block.endswith(b"\n"))
        if self.delimiter == WHITESPACE:
            block = _single_spaces(block)
        while True:
            as_texts = self.as_texts
            table = self._read(block, as_texts)
            if table.num_rows != rows:  # blank lines, cells of several lines
                raise IrregularTextError
            wrong = {i for i in range(self.width) if not _as_declared(table.column(i))}
            integers = {i for i, kind in enumerate(table.schema.types) if kind == pa.int64()}
            if integers and has_hexadecimal(block):  # a number to Arrow, a word to spnc
                wrong |= integers
            numbers = {i for i, kind in enumerate(table.schema.types) if _is_number(kind)}
            if numbers - wrong:
                wrong |= self._codes(block, numbers - wrong)
            if not wrong - as_texts:
                return table
            with self._adding:
                self.as_texts |= wrong

    def _codes(self, block: bytes, numbers: set[int]) -> set[int]:
        """Return the columns of numbers with a zero before other digits: 00501 is a text."""
        if b'"' not in block:
            return numbers & padded_columns(block, self.delimiter, self.width)
        if not has_padded_number(block, self.delimiter):
            return set()
        texts = self._read(block, numbers, only=numbers)
        return {i for i in numbers if is_padded(texts.column(str(i)))}

    def _read(self, block: bytes, as_texts: Iterable[int], only: Iterable[int] = ()) -> Any:
        """Return the columns of a block, some as texts; with `only`, just these columns."""
        names = [str(i) for i in range(self.width)]
        try:
            return pa.csv.read_csv(
                pa.BufferReader(block),
                read_options=pa.csv.ReadOptions(
                    column_names=names, block_size=_PART_BYTES, use_threads=self.parallel
                ),
                parse_options=pa.csv.ParseOptions(delimiter=self.delimiter),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=[str(i) for i in only],
                    column_types={str(i): _TEXTS for i in as_texts},
                    null_values=self.missing,
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:  # ragged rows, bytes that are not UTF-8
            raise IrregularTextError from error

    def _is_plainly_quoted(self, block: bytes) -> bool:
        return self.delimiter != WHITESPACE and is_plainly_quoted(block, self.delimiter)


def _raw(column: Any) -> RawColumn:
    return untyped_texts(column) if column.type == _TEXTS else raw_column(column)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _as_declared(column: Any) -> bool:
    """Whether a column is of numbers, empty or of texts, as opposed to what Arrow made of it."""
    kind = column.type
    if pa.types.is_floating(kind):
        # `nan` that does not mark a missing value is a text; a finite sum has none in it.
        total = pa.compute.sum(column).as_py() or 0.0
        has_nan = not math.isfinite(total) and pa.compute.any(pa.compute.is_nan(column)).as_py()
        return not has_nan and not rounded(column)
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind) or kind == _TEXTS)


def rounded(column: Any) -> bool:
    """Whether Arrow made doubles of whole numbers, some of them too large for its integers."""
    bounds = pa.compute.min_max(column).as_py()  # of values other than NaN
    if bounds["min"] is None or max(-bounds["min"], bounds["max"]) < _LARGEST:
        return False
    part = pa.compute.equal(pa.compute.floor(column), column)
    return bool(pa.compute.all(part).as_py())


def _single_spaces(block: bytes) -> bytes:
    """Return lines with one space between cells and none around them."""
    block = re.sub(rb"[ \t]+", b" ", block)
    return block.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def read_blocks(
    blocks: Iterator[bytes], reader: FastReader, size: int | None = None
) -> list[RawColumn] | None:
    """Return the columns of all blocks; None if the text has to be read again from its start.

    The latter is so if a column turned out to hold texts after numbers were read from it; the
    reader remembers the column. `size` is that of the text in bytes, if it is known: then memory
    is reserved at once. Raises `IrregularTextError`.
    """
    parts: list[ColumnParts] = []
    held: dict[int, str] = {}
    again = False
    for length, columns in _read_ahead(blocks, reader):
        if not parts:
            more = 0 if size is None else size // length + 1
            parts = [ColumnParts(more * column.rows) for column in columns]
        for i, column in enumerate(columns):
            if not (column.kind == "numbers" and column.is_empty):
                again = again or held.setdefault(i, column.kind) != column.kind
            if not again:
                parts[i].append(column)
    return None if again else in_threads(ColumnParts.whole, parts)


def _read_ahead(
    blocks: Iterator[bytes], reader: FastReader
) -> Iterator[tuple[int, list[RawColumn]]]:
    """Yield the length of each block and its columns, while threads parse the next blocks."""
    threads = thread_count(None)
    with ThreadPoolExecutor(threads) as workers:
        waiting: deque[tuple[int, Future[list[RawColumn]]]] = deque()
        for block in blocks:
            if reader.digits_only:  # so fast that a thread would only take memory
                yield len(block), reader.parse(block)
                continue
            waiting.append((len(block), workers.submit(reader.parse, block)))
            del block
            if len(waiting) > threads:
                length, begun = waiting.popleft()
                yield length, begun.result()
        while waiting:
            length, begun = waiting.popleft()
            yield length, begun.result()


def parse_digits(body: bytes, delimiter: str) -> NDArray[np.uint8] | None:
    """Return the table if every cell is one digit: then the bytes are the table; else None."""
    body = body if body.endswith(b"\n") else body + b"\n"
    width = body.find(b"\n") + 1
    if width % 2 or len(body) % width:
        return None
    grid = np.frombuffer(body, dtype=np.uint8).reshape(-1, width)
    cells, between, ends = grid[:, 0::2], grid[:, 1:-1:2], grid[:, -1]
    if (ends != ord("\n")).any() or (cells < ord("0")).any() or (cells > ord("9")).any():
        return None
    accepted = between == ord(delimiter)
    if delimiter == WHITESPACE:
        accepted |= between == ord("\t")
    if not accepted.all():
        return None
    found: NDArray[np.uint8] = cells - np.uint8(ord("0"))
    return found

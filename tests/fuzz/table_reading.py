"""What is done with a table of any type: it is summarised, and read as new rows for a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.load import load_table
from spnc.data.stream import stream_table
from spnc.data.summary import summarise
from spnc.diagnostics import Sink
from tests.fuzz.harness import stop


def check_table(path: Path) -> None:
    """Read a table twice: to find its columns, then in pieces with these columns.

    Raises `InputError` if the table is refused, and AssertionError if the cells differ.
    """
    sink = Sink()
    dataset = load_table(str(path), sink, offline=True)
    stop(sink)
    found = sink.require(dataset)
    json.dumps(summarise(found))
    assert found.digest
    pieces: dict[str, list[Floats]] = {}
    for split, table in stream_table(str(path), sink, columns=found.columns, rules=found.rules):
        pieces.setdefault(split, []).append(table.values)
    assert not sink.failed, f"its own columns do not fit: {sink.diagnostics}"
    for split in found.splits:
        table = found.in_memory(split)
        again = np.concatenate(pieces[split])
        assert np.array_equal(table.values, again, equal_nan=True), "other cells in pieces"

"""The bars of a column count all of its values, however close together or far out these are."""

from __future__ import annotations

import numpy as np
import pytest

from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.summary import BARS, summarise
from spnc.diagnostics import Sink


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 5e-324, 1e-323],  # doubles cannot tell the bars between these apart
        [1.0, float(np.nextafter(1.0, 2.0)), float(np.nextafter(1.0, 0.0))],
        [1e20, float(np.nextafter(1e20, 2e20)), float(np.nextafter(1e20, 0.0))],
        [-1e150, 0.0, 1e150],
        [0.25, 0.5, 1.75],
    ],
)
def test_every_value_is_in_a_bar(values: list[float]) -> None:
    sink = Sink()
    table = raw_from_python({"a": values * 20}, sink)
    assert table is not None
    dataset = sink.require(load_table(table, sink))
    (facts,) = summarise(dataset)["columns"]
    assert facts["kind"] == "real"
    assert len(facts["counts"]) == BARS
    assert sum(facts["counts"]) == 60

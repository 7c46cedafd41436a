"""The paper's recipe on real data: a forest of ten ExtraSPNs on NLTCS, fitted by EM."""

from __future__ import annotations

import pytest

import spnc
from tests.places import SHARED_DATA


@pytest.mark.skipif(
    not (SHARED_DATA / "debd").is_dir(), reason="the DEBD datasets are not on this machine"
)
def test_a_forest_of_ten_on_nltcs_beats_the_paper(monkeypatch) -> None:
    monkeypatch.setenv("SPNC_DATA", str(SHARED_DATA))
    trained = spnc.train("specs/paper/nltcs-rspf10.yaml")
    assert trained.metrics["splits"]["test"]["avg_ll"] >= -6.04
    assert trained.metrics["splits"]["test"]["impossible_rows"] == 0

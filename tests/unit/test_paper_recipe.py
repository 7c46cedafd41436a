"""The paper's recipe on real data: a forest of ten ExtraSPNs on NLTCS, fitted by EM."""

from __future__ import annotations

from pathlib import Path

import pytest

import spnc

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.mark.skipif(
    not (DATA / "debd").is_dir(), reason="the DEBD datasets are not on this machine"
)
def test_a_forest_of_ten_on_nltcs_beats_the_paper(monkeypatch) -> None:
    monkeypatch.setenv("SPNC_DATA", str(DATA))
    trained = spnc.train("specs/paper/nltcs-rspf10.yaml")
    assert trained.metrics["splits"]["test"]["avg_ll"] >= -6.04
    assert trained.metrics["splits"]["test"]["impossible_rows"] == 0

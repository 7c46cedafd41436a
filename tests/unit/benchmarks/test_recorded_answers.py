"""How answers are asked for and written; `tests/unit/test_peer_answers.py` reads the records."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
import pytest

import spnc
from benchmarks import record_answers
from benchmarks.common.flat_circuit import Flat, columns_of, graph_of
from benchmarks.peers.recording import RECORDS, ROOT
from spnc.common.arrays import Floats
from tests.circuits import all_states


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The protocol as workers import it: from the folder that they are in."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "peers"))
    return importlib.import_module("answer_protocol")


class Fake:
    """A library that answers one question well, one badly, and one not at all."""

    peer, version, packages = "fake", "1", ("numpy",)
    wrong = {"decisions_5 completions": "it fills nothing"}  # noqa: RUF012

    def build(self, circuit: Any, columns: int) -> None:
        self.columns = columns

    def log_likelihoods(self, rows: Floats) -> Floats:
        return np.where(np.isnan(rows).any(axis=1), -np.inf, -0.5)

    def completions(self, rows: Floats) -> Floats:
        return rows

    def marginals(self, columns: list[int], rows: Floats) -> Floats:
        raise ZeroDivisionError("no such thing")


def test_a_record_has_answers_failures_and_known_mistakes(protocol: Any) -> None:
    case = next(c for c in protocol.cases(RECORDS / "spflow") if c.name == "decisions_5")
    text = protocol.rendered(protocol.record(case, Fake()))
    found = json.loads(text)
    assert set(found["answers"]) == {"log_likelihoods", "completions"}
    assert {"-inf", -0.5} == set(found["answers"]["log_likelihoods"]["values"])
    assert found["answers"]["completions"]["values"][-1] == [None] * 5
    assert found["unable"]["marginals"] == "it fails: ZeroDivisionError no such thing"
    assert found["unable"]["means"] == "it has no such question"
    assert found["wrong"] == {"completions": "it fills nothing"}
    assert len(spnc.compile(found["circuit"]).columns) == 5


def test_the_questions_have_what_they_promise(protocol: Any) -> None:
    for case in protocol.cases(RECORDS / "spflow"):
        known = ~np.isnan(case.evidence)
        assert (known != ~np.isnan(case.targets)).all()
        assert (case.low <= case.high)[~np.isnan(case.low + case.high)].all()
        model = spnc.compile(case.graph)
        assert np.isfinite(model.log_likelihood(case.evidence)).all()
        assert np.isnan(case.rows[-1]).all()


@pytest.mark.parametrize("name", ["dag_binary_6", "impossible_categorical"])
def test_workers_build_the_circuit_that_is_recorded(protocol: Any, name: str) -> None:
    graph = json.loads((RECORDS / "cirkit-0.2.1" / f"{name}.json").read_text())["circuit"]
    flat = Flat.of(protocol.flat_circuit(graph))
    model = spnc.compile(graph)
    rows = all_states(model.columns)
    other = spnc.from_networkx(graph_of(flat, columns_of(flat, rows)))
    np.testing.assert_allclose(other.log_likelihood(rows), model.log_likelihood(rows), rtol=1e-12)


def test_an_unknown_peer_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        record_answers.main(["--peers", "nobody"])
    assert "no peer is called nobody; there are spflow-0.0.48" in capsys.readouterr().err
    for peer, worker in record_answers.WORKERS.values():
        assert peer.worker.with_name(worker).is_file()

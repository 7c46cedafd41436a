"""A cluster on this machine is started when there is work for it, and not before."""

from __future__ import annotations

from multiprocessing import active_children
from typing import Any

import pytest

import spnc
from spnc.cluster import dask_workers
from spnc.cluster.joining import Connection, joined
from spnc.common.observer import Observer
from spnc.model import to_bytes

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

SMALL = {
    "model": "small",
    "data": {"source": "builtin:digits", "split": [0.8, 0.1, 0.1]},
    "forest": [{"learner": "extra-spn", "count": 2, "min_instances": 400}],
    "optimizer": {"max_iterations": 1},
    "backend": "numpy",
}


class Notices(Observer):
    """Remembers what is to be known."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def notice(self, text: str) -> None:
        self.texts.append(text)


def test_little_work_starts_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(workers: int) -> Any:
        raise AssertionError(f"{workers} workers were started")

    monkeypatch.setattr("spnc.cluster.joining.started_here", started)
    notices = Notices()
    found = spnc.train({**SMALL, "cluster": "local:2"}, progress=notices)
    assert notices.texts == ["cluster: `local:2` was not started: there was too little to do"]
    assert to_bytes(found.model) == to_bytes(spnc.train(SMALL).model)


def test_components_that_take_long_are_learned_by_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_workers, "PATIENCE", 0.0)
    notices = Notices()
    found = spnc.train({**SMALL, "cluster": "local:1"}, ["cluster=local:2"], progress=notices)
    assert any(text.startswith("cluster: tcp://127.0.0.1:") for text in notices.texts)
    assert to_bytes(found.model) == to_bytes(spnc.train(SMALL).model)


def test_a_cluster_that_cannot_be_started_is_a_diagnostic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def started(workers: int) -> Any:
        raise OSError("no more processes")

    monkeypatch.setattr("spnc.cluster.joining.started_here", started)
    monkeypatch.setattr(dask_workers, "PATIENCE", 0.0)
    with pytest.raises(spnc.InputError) as error:
        spnc.train({**SMALL, "cluster": "local:2"})
    assert [d.code for d in error.value.diagnostics] == ["E512"]
    assert "no more processes" in str(error.value)


def test_a_cluster_ends_with_its_context_even_while_it_starts() -> None:
    before = active_children()  # such as joblib's, which other tests have left waiting
    with joined("local:1", Observer()) as found:
        found.begin()
        found.begin()  # it is started once
    assert not [p for p in active_children() if p not in before and p.is_alive()]


def test_a_client_that_is_given_is_taken_as_it_is() -> None:
    client = object()
    found = Connection.of(client)
    found.begin()
    assert found.client is client

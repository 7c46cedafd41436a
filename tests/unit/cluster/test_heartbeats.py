"""Heartbeats decide which workers get work, and how long it is awaited."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from spnc.cluster import heartbeats
from spnc.cluster.heartbeats import Heartbeats, NoAnswerError, SilentWorkerError


class Pretended:
    """A client of workers of which some are silent, and of a scheduler that may be stopped."""

    def __init__(self, *workers: str) -> None:
        self.workers, self.silent = workers, set[str]()
        self.stopped = threading.Event()

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        if self.stopped.is_set():
            time.sleep(60.0)
        now = time.time()
        beats = {w: {"last_seen": 0.0 if w in self.silent else now} for w in self.workers}
        return {"workers": beats}


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(heartbeats, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(heartbeats, "LOST_SECONDS", 0.5)


def hangs(workers: list[str] | None) -> None:
    time.sleep(60.0)


def test_the_result_and_what_is_raised_come_back() -> None:
    watch = Heartbeats(Pretended("a"))
    assert watch.awaited(lambda workers: (workers, 3)) == (None, 3)
    with pytest.raises(TimeoutError, match="own"):
        watch.awaited(lambda _: _raise(TimeoutError("its own")))


def _raise(error: Exception) -> None:
    raise error


def test_work_goes_to_the_others_and_back() -> None:
    client = Pretended("a", "b")
    watch = Heartbeats(client)
    client.silent = {"b"}
    with pytest.raises(SilentWorkerError):
        watch.awaited(hangs)
    assert watch.awaited(lambda workers: workers) == ["a"]
    assert watch.workers == 1
    client.silent = set()
    watch.look()
    assert watch.awaited(lambda workers: workers) is None
    assert watch.workers == 2


def test_when_all_were_silent_one_that_is_back_is_enough() -> None:
    client = Pretended("a", "b")
    watch = Heartbeats(client)
    client.silent = {"a", "b"}
    watch.look()
    time.sleep(0.2)
    watch.look()
    assert watch.workers == 0
    threading.Timer(0.2, client.silent.remove, ["a"]).start()
    with pytest.raises(SilentWorkerError):
        watch.awaited(hangs)
    assert watch.usable() == ["a"]


def test_workers_that_are_gone_have_no_work() -> None:
    client = Pretended("a", "b")
    watch = Heartbeats(client)
    client.silent = {"b"}
    with pytest.raises(SilentWorkerError):
        watch.awaited(hangs)
    client.workers = ("b", "c")
    with pytest.raises(SilentWorkerError):
        watch.awaited(hangs)
    assert watch.usable() == ["c"]


@pytest.mark.parametrize("what", ["nobody", "all silent", "scheduler stopped"])
def test_nobody_is_awaited_for_ever(what: str) -> None:
    client = Pretended(*([] if what == "nobody" else ["a"]))
    client.silent = {"a"} if what == "all silent" else set()
    if what == "scheduler stopped":
        client.stopped.set()
    with pytest.raises(NoAnswerError):
        Heartbeats(client).awaited(hangs)

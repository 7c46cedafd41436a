"""`--auto` on a clock of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import spnc
from spnc.common.budget import Budget
from spnc.common.observer import Observer
from spnc.common.workers import SERIAL, Workers
from spnc.diagnostics import Sink
from spnc.runs.folder import RunFolder
from spnc.search.auto.loop import auto, comment
from spnc.search.auto.start import read_start
from spnc.search.journal import SearchFolder
from spnc.trained import Trained


class Clock:
    """A clock on which every look takes the same time."""

    def __init__(self, tick: float = 0.02) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def choose(
    folder: Path | None,
    budget: float = 12.0,
    tick: float = 0.02,
    *,
    table: str = "builtin:asia",
    given: list[str] | None = None,
    resuming: bool = False,
    began: float | None = None,
    observer: Observer | None = None,
    workers: Workers = SERIAL,
) -> Trained:
    sink = Sink()
    start = read_start(table, given or [], sink)
    sink.stop()
    assert start is not None
    limit = Budget(budget, Clock(tick), began=began)
    if folder is None:
        return auto(start, limit, sink, workers=workers)
    run = RunFolder(folder, sink, resuming)
    journal = SearchFolder(run, [], partial(comment, start))
    with run.held(limit):
        return auto(start, limit, sink, observer, journal, workers=workers)


def made_again(run: Path) -> bytes:
    """The model that training the run's short recipe gives."""
    trained = spnc.train(run / "recipe.yaml")
    again = run / "again.spnc"
    trained.model.save(again)
    return again.read_bytes()

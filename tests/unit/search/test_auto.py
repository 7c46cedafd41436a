"""`--auto` in its parts: budgets, names, costs, when a try is left; and on the command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.cli import main
from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, Deadline, OutOfTimeError
from spnc.common.observer import Observer, Stage
from spnc.diagnostics import Sink
from spnc.program.score import Score
from spnc.registry import FAMILIES
from spnc.runs.folder import RunFolder
from spnc.runs.outcome import Outcome
from spnc.search.auto.board import Board, ladder
from spnc.search.auto.costs import Costs
from spnc.search.auto.leaving import LeavingRule, last_slope
from spnc.search.auto.proposal import FinishedTry, Proposal
from spnc.search.auto.stage_clock import StageClock
from spnc.search.auto.start import model_name
from spnc.search.journal import Begun, Journal
from spnc.search.trials import Trials
from spnc.spec.limits import read_budget
from spnc.training import Record, State
from tests.places import ROOT


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90s", 90), ("10min", 600), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("45", 45)),
        *(("1.5h", 5400), ("1h 30min 5s", 5405), ("0.5s", 0.5), (" 5 s ", 5), ("2H", 7200)),
    ],
)
def test_times_are_read_as_people_write_them(text: str, seconds: float) -> None:
    sink = Sink()
    assert read_budget(text, sink) == seconds
    assert not sink.diagnostics


@pytest.mark.parametrize(
    "text", ["", "x", "0", "-5s", "5d", "1m1h", "1h1h", "1h30", "30 1h", "9999999h", "1e5", "nan"]
)
def test_what_is_no_time_is_reported(text: str) -> None:
    sink = Sink()
    assert read_budget(text, sink) is None
    assert [d.code for d in sink.diagnostics] == ["E137"]


@given(st.text(max_size=12))
def test_any_text_is_a_time_or_reported(text: str) -> None:
    sink = Sink()
    seconds = read_budget(text, sink)
    assert (seconds is None) == bool(sink.diagnostics)
    assert seconds is None or 0.0 < seconds <= 3.6e6


@pytest.mark.parametrize(
    ("table", "name"),
    [("debd:nltcs", "nltcs"), ("a/rows.csv.gz", "rows"), ("rows.npy", "rows"), ("x:", "table")],
)
def test_a_model_is_named_after_its_table(table: str, name: str) -> None:
    assert model_name(table) == name


def test_a_ladder_is_climbed_from_its_nearest_rung() -> None:
    assert ladder((1, 2, 5), 2, 1) == 5
    assert ladder((1, 2, 5), 5, 1) is None
    assert ladder((1, 2, 5), 4.4, -1) == 2


# ---- costs and judgement -------------------------------------------------------------------


def outcome(number: int, valid: float, edges: int = 1000, **more: Any) -> Outcome:
    return Outcome(
        number, {"family": "f"}, Score(valid * 10, 10, 0), Score(), edges, 50, 1.0, **more
    )


def proposal(edges: float) -> Proposal:
    return Proposal(None, "", "a", 1.0, edges, 10, family="f")  # type: ignore[arg-type]


def tried(*outcomes: Outcome) -> list[FinishedTry]:
    return [FinishedTry(proposal(o.edges), o, 0.0, 0) for o in outcomes]


@given(st.floats(10, 1e6), st.floats(10, 1e6))
def test_more_edges_never_cost_less(one: float, other: float) -> None:
    known = tried(outcome(1, -5), outcome(2, -4, 2_000, setup=0.5, pace=0.02))
    costs = Costs(10_000)
    small, large = (costs.estimate(proposal(e), known) for e in sorted((one, other)))
    assert small.total <= large.total
    assert small.least <= large.least


def test_what_was_measured_tells_what_comes() -> None:
    known = tried(outcome(1, -5), outcome(2, -4, 2_000, setup=0.5, pace=0.02))
    twice = Costs(10_000).estimate(proposal(4_000), known)
    assert 0.5 < twice.setup <= 1.0
    assert 0.02 < twice.pace <= 0.04
    assert twice.total == pytest.approx(twice.setup + 10 * twice.pace)


def test_writing_the_model_takes_longer_with_more_edges_and_test_rows() -> None:
    mixture = outcome(1, -5, 100_000, setup=30.0, structure=29.0)
    assert Costs(1, 40_000).wrap_up_of(mixture) > 3.0
    assert Costs(1, 100).wrap_up_of(mixture) < 3.0  # how long its structure took is no matter
    assert Costs(1, 100).wrap_up_of(outcome(1, -5, 100, setup=9.0)) > 5.0


def test_how_long_structures_of_other_families_took_tells_nothing() -> None:
    known = tried(outcome(1, -5), outcome(2, -4, 4_000, setup=60.0, structure=59.8))
    stranger = replace(proposal(4_000), family="g")
    assert Costs(1_000).estimate(stranger, known).total < 1.0
    assert Costs(1_000).estimate(proposal(4_000), known).total > 50.0


def test_a_circuit_of_a_few_edges_does_not_make_large_ones_seem_endless() -> None:
    known = tried(outcome(1, -5, 6, setup=0.02), outcome(2, -4, 600, setup=0.01))
    assert Costs(1_000).estimate(proposal(20_000), known).setup < 2.0


def history(*valid: float) -> tuple[Record, ...]:
    return tuple(Record(i, v, 0.0, v, v, 0.0, float(i)) for i, v in enumerate(valid))


class Hands:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def left_after(curve: list[float], *, rate: float, budget: float, best: float = -9.0) -> int:
    """After how many iterations of a second each a try is left."""
    clock = Hands()
    limit = Budget(budget, clock)
    board = Board(None, None, budget, Costs(1))  # type: ignore[arg-type]
    board.tried = tried(outcome(1, -12.0), outcome(2, best))
    stages = StageClock(Observer(), limit.used)
    rule = LeavingRule(limit, stages, board, rate, goes_on=False)
    for i in range(len(curve)):
        if rule.enough(history(*curve[: i + 1])):
            return i
        clock.now += 1.0
    return len(curve)


FLATTENING = [-8.0 - 2.0 / (1 + i) for i in range(200)]


def test_a_try_is_left_when_it_yields_less_than_the_next_would() -> None:
    eager = left_after(FLATTENING, rate=0.02, budget=1e6)
    patient = left_after(FLATTENING, rate=0.002, budget=1e6)
    assert 8 <= eager < patient < 200


def test_a_try_is_left_when_the_budget_ends() -> None:
    assert left_after(FLATTENING, rate=0.0, budget=12.0) in (10, 11)


def test_a_try_that_will_not_catch_up_is_left() -> None:
    hopeless = left_after([v - 3.0 for v in FLATTENING], rate=0.0, budget=1e6)
    assert hopeless < left_after(FLATTENING, rate=0.0, budget=1e6)


def test_a_curve_that_falls_has_no_slope() -> None:
    assert last_slope(history(*[-5.0 - i for i in range(20)]), 1.0) == 0.0
    assert last_slope(history(*[-5.0 + i for i in range(20)]), 0.5) == pytest.approx(2.0)


def test_structure_that_takes_too_long_is_given_up_but_not_the_first() -> None:
    clock = Hands()
    deadline = Deadline(Budget(10.0, clock).left, 0.5)
    deadline.check()
    clock.now = 9.6
    NEVER.check()
    with pytest.raises(OutOfTimeError):
        deadline.check()


def test_stages_are_timed_without_what_is_done_once_for_each_machine() -> None:
    clock = Hands()
    stages = StageClock(Observer(), clock)
    stages.begin()
    for stage, seconds in (
        (Stage.STRUCTURE, 5.0),
        (Stage.LOWERING, 2.0),
        (Stage.PREPARING, 30.0),
        (Stage.TRAINING, 1.0),
    ):
        stages.stage(stage)
        clock.now += seconds
    assert stages.setup() == pytest.approx(8.0)
    assert stages.lowering() == pytest.approx(3.0)


def test_what_goes_on_begins_from_the_best_and_not_from_the_last() -> None:
    trials = Trials(None, None, Journal(), Sink(), Observer())  # type: ignore[arg-type]
    outcomes = (outcome(1, -5.0), outcome(2, -4.0), outcome(3, -6.0))
    trials.take_up(Begun(outcomes))
    assert trials.best is outcomes[1]


def test_every_family_says_what_it_is() -> None:
    assert {"chow-liu", "hclt", "links", "longer"} <= set(FAMILIES)
    assert all(FAMILIES[name].summary() for name in FAMILIES)


# ---- the command line ----------------------------------------------------------------------


@pytest.mark.parametrize("words", [["a.yaml", "--auto", "builtin:asia"], []])
def test_a_spec_or_a_table_but_not_both(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", *words])
    assert end.value.code == 2
    assert "--auto" in capsys.readouterr().err


def test_interrupted_it_keeps_the_best_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    keep = RunFolder.keep

    def interrupting(self: RunFolder, state: State) -> None:
        keep(self, state)
        if len(state.history) == 5:
            raise KeyboardInterrupt

    line = ["train", "--auto", "builtin:asia", "--budget", "1h", "-o", "a run", "--seed", "3"]
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "keep", interrupting)
        assert main(line) == 130
    said = capsys.readouterr().err
    assert "interrupted in try 2; 1 finished try kept in a run" in said
    assert "the best so far: a run/best-1.spnc, from a run/recipe.yaml" in said
    assert spnc.load("a run/best-1.spnc").name == "asia"
    go_on = shlex.split(said.split("continue with: spnc ")[1])
    assert go_on[go_on.index("--budget") + 1] == "1h"
    assert main(["train", "a run/recipe.lock.yaml", "--out", "a run", "--resume"]) == 1
    assert f"continue with `{shlex.join(['spnc', *go_on])}`" in capsys.readouterr().err
    assert main(["report", "a run"]) == 1
    assert f"continue with `{shlex.join(['spnc', *go_on])}`" in capsys.readouterr().err
    go_on[go_on.index("1h")] = line[line.index("1h")] = "0.1s"  # another budget is fine
    assert main([*go_on, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["search"]["budget"] == 0.1
    assert found["splits"].keys() == {"train", "valid", "test"}
    assert sum(t["chosen"] for t in found["search"]["tries"]) == 1
    assert main(line) == 1  # the folder is taken
    assert main([*line, "--overwrite"]) == 0
    assert "→" in capsys.readouterr().out


def test_interrupted_between_tries_or_before_training_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def interrupting(*_: object) -> None:
        raise KeyboardInterrupt

    line = ["train", "--auto", "builtin:asia", "--budget", "1h", "--out", "run"]
    with monkeypatch.context() as patch:
        patch.setattr(
            "spnc.search.auto.loop._Loop._post", interrupting
        )  # right after the first try
        assert main(line) == 130
    assert "interrupted between tries; 1 finished try kept in run" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("spnc.search.compile_cache.CompileCache.compile", interrupting)
        assert main([*line, "--resume"]) == 130
    assert "interrupted in try 2; 1 finished try kept in run" in capsys.readouterr().err


def test_a_killed_process_leaves_what_it_had_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["train", "--auto", "builtin:asia", "--out", "run", "--quiet", "--budget"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    journal = Path("run/search.json")

    def kept() -> list[dict[str, Any]]:
        return json.loads(journal.read_text())["tries"] if journal.is_file() else []

    with subprocess.Popen([sys.executable, "-m", "spnc", *line, "1h"], env=env) as process:
        while len(kept()) < 2 and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    before = kept()
    assert process.returncode == -signal.SIGKILL
    assert len(before) >= 2
    assert main([*line, "0.1s", "--resume"]) == 0
    tries = json.loads(Path("run/metrics.json").read_text())["search"]["tries"]
    valid = [t["valid"]["total"] / t["valid"]["possible"] for t in before]
    assert [t["valid"] for t in tries[: len(before)]] == valid
    assert not journal.exists()
    assert main(["train", "run/recipe.yaml", "--out", "again"]) == 0
    assert Path("again/model.spnc").read_bytes() == Path("run/model.spnc").read_bytes()


def test_the_api_does_the_same_without_a_folder(tmp_path: Path) -> None:
    found = spnc.train_auto("builtin:asia", 1.0, "seed=2")
    assert found.tries
    assert found.recipe.model == "asia"
    with pytest.raises(spnc.InputError, match="E137"):
        spnc.train_auto("builtin:asia", "soon")
    with pytest.raises(spnc.InputError, match="E137"):
        spnc.train_auto("builtin:asia", -1.0)

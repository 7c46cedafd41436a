"""`spnc plot history`: curves of finished runs, and of runs in progress."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

import spnc
from spnc.cli import main
from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.reports.plots import learning_curve as curves
from spnc.runs import checkpoint
from spnc.runs.history import read_history
from tests.plotting import curve


def test_a_finished_run_has_its_history_and_what_was_kept(finished: Path) -> None:
    sink = Sink()
    history = read_history(finished, sink)
    assert history is not None
    assert sink.diagnostics == []
    metrics = json.loads((finished / "metrics.json").read_text())
    assert history.finished
    assert history.name == "run"
    assert history.iterations == tuple(range(metrics["optimizer"]["iterations"] + 1))
    assert history.kept == metrics["optimizer"]["kept_iteration"]
    for split, values in (("train", history.train), ("valid", history.valid)):
        assert values[history.kept] == pytest.approx(metrics["splits"][split]["avg_ll"], abs=1e-9)


def test_the_curve_of_a_run_in_progress_comes_from_its_checkpoint(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(Observer):
        def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
            if number == 3:
                raise KeyboardInterrupt

    with pytest.raises(spnc.Interrupted):
        spnc.train(finished.parent / "small.yaml", out="going", progress=Interrupting())
    whole, part = read_history(finished, Sink()), read_history(Path("going"), Sink())
    assert whole is not None
    assert part is not None
    assert not part.finished
    assert part.train == whole.train[:4]
    assert part.valid == whole.valid[:4]
    assert part.kept == int(np.argmax(part.valid))
    assert main(["plot", "history", "going", str(finished), "-o", "both.svg"]) == 0
    assert "not finished: going" in capsys.readouterr().out
    assert main(["plot", "history", "going", "--json"]) == 0
    [facts] = json.loads(capsys.readouterr().out)["runs"]
    assert facts["finished"] is False
    assert facts["iterations"] == 3
    assert facts["valid"] == max(part.valid)
    assert "best so far" in curves.described(part)
    assert Path("going/history.png").is_file()


JUNK = [None, [], {}, {"history": 3}, {"history": [[]], "best_iteration": 0}]
JUNK += [{"history": [[0, x, 0, 0, None, None, 0]], "best_iteration": 0} for x in ("", None, 1e99)]


@pytest.mark.parametrize("about", JUNK, ids=str)
def test_a_checkpoint_that_says_something_else_is_reported(about: object) -> None:
    Path("run").mkdir()
    content = save({"weights": np.zeros(1)}, metadata={checkpoint.FORMAT: json.dumps(about)})
    Path("run/checkpoint.safetensors").write_bytes(content)
    sink = Sink()
    assert read_history(Path("run"), sink) is None
    assert [d.code for d in sink.diagnostics] == ["E601"]


def test_a_run_that_has_only_begun_has_no_curve_yet() -> None:
    Path("begun").mkdir()
    Path("begun/recipe.lock.yaml").write_text("model: some\n")
    sink = Sink()
    assert read_history(Path("begun"), sink) is None
    [found] = sink.diagnostics
    assert found.code == "E601"
    assert found.message.endswith("yet")


HEAD = "iteration,train,train_impossible,objective,valid,valid_impossible,seconds\n"


@pytest.mark.parametrize(
    "content",
    [
        *("", HEAD, "a,b\n1,2\n", "\0\n1\n", HEAD + "0,-1.0\n", HEAD + "zero,-1.0,0,-1,,,0\n"),
        *(HEAD + f"{iteration},-1.0,0,-1,,,0\n" for iteration in ("-" + "9" * 30, "9" * 400)),
        *(HEAD + f"0,{train},0,-1,,,0\n" for train in ("-1e300", "inf", "1_")),
        HEAD + "0,-1.0,0,-1,,,0\n" * 2,
    ],
)
def test_a_history_that_is_not_one_is_reported(content: str) -> None:
    Path("run").mkdir()
    Path("run/history.csv").write_text(content)
    sink = Sink()
    assert read_history(Path("run"), sink) is None
    assert [d.code for d in sink.diagnostics] == ["E601"]


KEPT = '{{"optimizer": {{"kept_iteration": {}}}}}'


@pytest.mark.parametrize("metrics", [None, "[]", KEPT.format(99), KEPT.format("Infinity")])
def test_a_curve_is_drawn_also_if_nobody_knows_what_was_kept(
    metrics: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run").mkdir()
    Path("run/history.csv").write_text(HEAD + "0,-3.0,0,-1,,,0\n1,-2.5,0,-1,,,0\n")
    if metrics is not None:
        Path("run/metrics.json").write_text(metrics)
    history = read_history(Path("run"), Sink())
    assert history == curve([-3.0, -2.5], name="run", kept=None)
    if metrics is not None:
        return
    assert main(["plot", "history", "run", "--json"]) == 0
    [facts] = json.loads(capsys.readouterr().out)["runs"]
    assert facts["kept_iteration"] is None
    assert (facts["train"], facts["valid"]) == (-2.5, None)


@given(
    values=st.lists(st.floats(-1e6, 0.0), min_size=1, max_size=60),
    late=st.lists(st.floats(-1e3, 0.0), min_size=1, max_size=60),
)
def test_at_most_the_first_tenth_of_a_curve_is_out_of_sight(
    values: list[float], late: list[float]
) -> None:
    low, high = curves.limits([curve(values), curve(late)])
    assert low < high
    for one in (values, late):
        assert all(low < value < high for value in one[int(np.ceil(0.1 * (len(one) - 1))) :])
        assert max(one) < high


def test_a_steep_beginning_is_cut_off_and_named_and_a_gentle_one_is_shown() -> None:
    steep = curve([-90.0, -20.0, *np.linspace(-6.5, -6.0, 18)])
    low, _ = curves.limits([steep])
    assert -7.0 < low < -6.5
    label = curves.draw([steep]).axes[0].get_xlabel()
    assert label == "iteration\niterations 0 to 1 are below the picture, from −90.00 on"
    gentle = curve(list(np.linspace(-7.0, -6.0, 30)))
    assert curves.limits([gentle])[0] < -7.0
    assert curves.draw([gentle]).axes[0].get_xlabel() == "iteration"


def test_the_kept_iteration_is_marked_on_the_validation_curve() -> None:
    history = curve([-3.0, -2.0, -1.0], [-3.0, -2.5, -2.75], kept=1)
    axes = curves.draw([history]).axes[0]
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    assert lines == [
        ([0, 1, 2], [-3.0, -2.0, -1.0]),
        ([0, 1, 2], [-3.0, -2.5, -2.75]),
        ([1], [-2.5]),
    ]
    assert curves.described(history) == "kept: iteration 1, valid −2.5000"


@pytest.mark.parametrize("count", [2, 9])
def test_every_run_has_a_colour_of_its_own_and_names_are_taken_as_they_are(count: int) -> None:
    runs = [curve([-3.0 - i, -2.0 - i], name=f"_run $_{i}^$ 天") for i in range(count)]
    figure = curves.draw(runs)
    colours = {line.get_color() for line in figure.axes[0].lines}
    assert len(colours) == count
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [text.split("\n")[0] for text in texts[-count:]] == [run.name for run in runs]
    assert curves.picture(runs, ".png").startswith(b"\x89PNG")


def test_curves_with_holes_and_of_one_point_are_drawn() -> None:
    nan = float("nan")
    for history in (
        curve([-1.0]),
        curve([nan]),
        curve([nan, -2.0], [nan, -3.0]),
        curve([-2.0] * 9),
    ):
        assert curves.picture([history], ".svg").startswith(b"<?xml")

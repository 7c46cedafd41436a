"""`spnc plot`: what is drawn is what was computed, and files are the same bytes every time."""

from __future__ import annotations

import io
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from safetensors.numpy import save

import spnc
from spnc.cli import main
from spnc.common.observer import Observer
from spnc.data.dataset import Table
from spnc.data.pairs import mutual_information, pair_counts
from spnc.diagnostics import Sink
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from spnc.reports.plots import learning_curve as curves
from spnc.reports.plots import mutual_information as matrices
from spnc.reports.plots.mutual_information import Comparison
from spnc.runs import checkpoint
from spnc.runs.history import History, read_history
from tests.circuits import random_circuit, random_rows

SPEC = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 300}
optimizer: {max_iterations: 8}
backend: numpy
seed: 3
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.yaml").write_text(SPEC)
    assert main(["train", str(folder / "small.yaml"), "--out", str(folder / "run")]) == 0
    return folder / "run"


def two_matrices(seed: int, columns: int) -> Comparison:
    rng = np.random.default_rng(seed)
    some = [rng.random((columns, columns)) for _ in range(2)]
    data, model = (np.where(np.eye(columns) > 0, 0.0, (m + m.T) / 2) for m in some)
    return Comparison("some", data, model)


def curve(train: list[float], valid: list[float] | None = None, **more: object) -> History:
    facts = {"name": "some", "kept": len(train) - 1, "finished": True, **more}
    return History(
        iterations=tuple(range(len(train))),
        train=tuple(train),
        valid=tuple(valid or ()),
        **facts,  # type: ignore[arg-type]
    )


# ---- mutual information ------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), columns=st.integers(1, 9))
def test_data_is_drawn_below_the_diagonal_and_the_model_above(seed: int, columns: int) -> None:
    comparison = two_matrices(seed, columns)
    drawn = comparison.matrix
    for i in range(columns):
        assert np.isnan(drawn[i, i])
        for j in range(i):
            assert drawn[i, j] == comparison.empirical[i, j]
            assert drawn[j, i] == comparison.model[i, j]


@given(seed=st.integers(0, 10_000), columns=st.integers(3, 9))
def test_every_pair_counts_once_in_what_is_said_about_the_difference(
    seed: int, columns: int
) -> None:
    comparison = two_matrices(seed, columns)
    pairs = [(i, j) for i in range(columns) for j in range(i)]
    data = np.array([comparison.empirical[p] for p in pairs])
    model = np.array([comparison.model[p] for p in pairs])
    centred = (data - data.mean()) * (model - model.mean())
    assert comparison.facts() == {
        "pairs": len(pairs),
        "mean_empirical": pytest.approx(data.mean()),
        "mean_model": pytest.approx(model.mean()),
        "mean_absolute_difference": pytest.approx(np.abs(data - model).mean()),
        "correlation": pytest.approx(centred.mean() / data.std() / model.std()),
    }


def test_nothing_is_said_where_there_is_nothing_to_say() -> None:
    alone = two_matrices(0, 1)
    assert set(alone.facts().values()) == {0, None}
    assert alone.summary() == "one column has no pairs"
    flat = Comparison("flat", two_matrices(0, 3).empirical, np.zeros((3, 3)))
    assert flat.facts()["correlation"] is None
    assert "correlation" not in flat.summary()
    for one in (alone, Comparison("zero", np.zeros((2, 2)), np.zeros((2, 2)))):
        names = [f"x{i}" for i in range(len(one.model))]
        assert matrices.picture([one], names, "data", ".png").startswith(b"\x89PNG")


def test_the_picture_shows_the_matrices_all_on_one_scale() -> None:
    many = [two_matrices(seed, 5) for seed in range(4)]
    many.append(Comparison("large", many[0].empirical, many[0].model * 3))
    figure = matrices.draw(many, list("abcde"), "rows.csv, 10 rows")
    shown = [axes for axes in figure.axes if axes.images]
    assert len(shown) == 5
    top = max(np.nanmax(comparison.matrix) for comparison in many)
    for axes, comparison in zip(shown, many, strict=True):
        [image] = axes.images
        np.testing.assert_array_equal(np.ma.filled(image.get_array(), np.nan), comparison.matrix)
        assert image.get_clim() == (0.0, top)
        assert [label.get_text() for label in axes.get_yticklabels()] == list("abcde")
        title = axes.get_title(loc="left")
        assert title == f"above the diagonal: {comparison.name}\nbelow: rows.csv, 10 rows"
        assert axes.get_xlabel() == comparison.summary()


def test_many_columns_are_numbered_and_long_names_cut() -> None:
    names = [f"a name that is much too long {i}" for i in range(60)]
    numbered = matrices.draw([two_matrices(0, 60)], names, "data").axes[0]
    assert "a name" not in "".join(label.get_text() for label in numbered.get_xticklabels())
    named = matrices.draw([two_matrices(0, 20)], names[:20], "data").axes[0]
    assert {label.get_text() for label in named.get_xticklabels()} == {"a name that is mu…"}


@pytest.fixture
def model() -> Model:
    """A model over six columns, saved, with data of two splits."""
    program, parameters = lower(random_circuit(5, variables=6, depth=4))
    model = Model("some", program, parameters, {}, BACKENDS["numpy"]())
    model.save("model.spnc")
    rows = random_rows(7, model.columns, 300, 0.1)
    np.savez("splits.npz", test=rows[200:], train=rows[:200])
    return model


@pytest.mark.parametrize("split", [None, "test"])
def test_the_numbers_printed_are_those_of_the_split(
    model: Model, capsys: pytest.CaptureFixture[str], split: str | None
) -> None:
    which = ["--split", split] if split else []
    line = ["plot", "mi", "model.spnc", "splits.npz", "--backend", "numpy", "--json", *which]
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    rows = np.load("splits.npz")[split or "train"]
    data = mutual_information(pair_counts(model.columns, Table(rows)))
    expected = Comparison("some", data, model.mutual_information()).facts()
    assert (found["split"], found["rows"]) == (split or "train", len(rows))
    assert found["picture"] == "model.mi.png"
    assert imread("model.mi.png").shape[2] == 4
    [one] = found["models"]
    assert {key: one[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    assert (one["model"], one["name"]) == ("model.spnc", "some")


def test_models_of_one_name_are_told_apart_by_their_files(
    model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("late").mkdir()
    model.save("late/model.spnc")
    line = ["plot", "mi", "model.spnc", "late/model.spnc", "splits.npz", "--backend", "numpy"]
    assert main(line) == 0
    shown = capsys.readouterr().out
    assert "some (model.spnc)" in shown
    assert "some (late/model.spnc)" in shown
    assert shown.endswith("written to mi.png\n")
    assert Path("mi.png").is_file()


# ---- learning curves ---------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "metrics", [None, "", "[]", "[" * 9999, KEPT.format(99), KEPT.format("Infinity")]
)
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


# ---- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_the_same_bytes_whatever_the_settings(suffix: str) -> None:
    def pictures() -> list[bytes]:
        comparison = two_matrices(3, 5)
        return [
            matrices.picture([comparison], list("abcde"), "data", suffix),
            curves.picture([curve([-3.0, -2.0], [-3.5, -2.5])], suffix),
        ]

    before = pictures()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert pictures() == before
        assert mpl.rcParams["font.size"] == 30
    for content in before:
        if suffix == ".png":
            assert imread(io.BytesIO(content)).shape[0] > 400
            assert b"Software" not in content
        else:
            assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
            assert b"<dc:date>" not in content


@pytest.mark.parametrize("name", ["curve.png", "new/folder/CURVE.SVG"])
def test_the_suffix_says_what_is_written(finished: Path, name: str) -> None:
    assert main(["plot", "history", str(finished), "-o", name]) == 0
    content = Path(name).read_bytes()
    assert content.startswith(b"\x89PNG" if name.lower().endswith("png") else b"<?xml")


def test_drawing_leaves_the_windows_of_matplotlib_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it fails
    assert curves.picture([curve([-3.0, -2.0])], ".svg")
    assert matrices.picture([two_matrices(0, 2)], ["a", "b"], "data", ".svg")


def test_models_with_other_scales_of_the_same_columns_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    circuit = "circuit c\nvariables {{ x: real(sd = {sd})  b: binary }}\n" + (
        "p = (x ~ gaussian(0, 1)) * (b ~ bernoulli(0.2))\n"
        "q = (x ~ gaussian(3, 1)) * (b ~ bernoulli(0.9))\n"
        "top = 0.5 p + 0.5 q\n"
    )
    for name, sd in (("one", 1.5), ("two", 2.5)):
        (tmp_path / f"{name}.spn").write_text(circuit.format(sd=sd))
        spnc.compile(tmp_path / f"{name}.spn").save(tmp_path / f"{name}.spnc")
    drawn = spnc.load(tmp_path / "one.spnc").sample(3000).lines()
    (tmp_path / "rows.csv").write_text("".join(",".join(line) + "\n" for line in drawn))
    models = [str(tmp_path / f"{name}.spnc") for name in ("one", "two")]
    output = str(tmp_path / "mi.png")
    line = ["plot", "mi", *models, str(tmp_path / "rows.csv"), "-o", output, "--json", "--quiet"]
    assert main(line) == 0
    one, two = json.loads(capsys.readouterr().out)["models"]
    assert one["mean_model"] == pytest.approx(two["mean_model"])
    assert one["mean_model"] == pytest.approx(one["mean_empirical"], abs=0.03)

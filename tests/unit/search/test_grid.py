"""`spnc train` on a spec with `search`: the best on valid, nothing twice, and going on again."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc import compilation
from spnc.backends.numba.engine import CpuEngine
from spnc.cli import main
from spnc.data.load import load
from spnc.forest.grow import grow
from spnc.graph.nodes import Builder
from spnc.program.score import Score
from spnc.registry import RESIDUALS
from spnc.residuals.none import NoLinks
from spnc.runs import preparation
from spnc.runs.folder import RunFolder
from spnc.runs.outcome import Outcome
from spnc.search import one_try
from spnc.training import State

HEAD = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
"""
SPEC = (
    HEAD
    + """
optimizer: {max_iterations: {search: [3, 9, 6]}, stop: none}
forest:
  - {learner: extra-spn, count: 2, min_instances: 300, beta: {search: [0.4, 0.6]}}
seed: 3
"""
)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SPEC)
    return "small.yaml"


def tries_of(run: str) -> list[dict[str, str]]:
    """The table of tries, without the time they took."""
    with Path(run, "tries.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert float(row.pop("seconds")) >= 0
    return rows


def interrupt_at(iteration: int, times: list[int]) -> Callable[[RunFolder, State], None]:
    """A `keep` that interrupts at the iteration, in the trainings with these numbers."""
    keep = RunFolder.keep
    begun: list[int] = []

    def interrupting(self: RunFolder, state: State) -> None:
        if len(state.history) == 1:
            begun.append(len(begun))
        keep(self, state)
        if len(state.history) == iteration and begun[-1] in times:
            raise KeyboardInterrupt

    return interrupting


def test_the_best_on_valid_is_kept_with_its_recipe_and_a_table_of_all(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", spec, "--out", "run"]) == 0
    shown = capsys.readouterr().out
    assert sorted(p.name for p in Path("run").iterdir()) == [
        "history.csv",
        "metrics.json",
        "model.spnc",
        "recipe.lock.yaml",
        "tries.csv",
    ]
    rows = tries_of("run")
    picked = [(r["forest.0.beta"], r["optimizer.max_iterations"]) for r in rows]
    assert picked == [(b, i) for b in ("0.4", "0.6") for i in ("3", "9", "6")]
    best = max(rows, key=lambda r: float(r["valid"]))
    assert [r for r in rows if r["chosen"] == "true"] == [best]
    metrics = json.loads(Path("run/metrics.json").read_text())
    assert metrics["splits"].keys() == {"train", "valid", "test"}
    assert metrics["splits"]["valid"]["avg_ll"] == float(best["valid"])
    assert metrics["splits"]["train"]["avg_ll"] == float(best["train"])
    assert metrics["model"]["edges"] == int(best["edges"])
    assert metrics["search"]["chosen"] == int(best["try"])
    assert metrics["search"]["choices"]["optimizer.max_iterations"] == [3, 9, 6]
    assert len(metrics["search"]["tries"]) == 6
    table = [line for line in shown.splitlines() if "→" in line]
    assert len(table) == 1
    assert f"{float(best['valid']):.4f}" in table[0]
    lock = Path("run/recipe.lock.yaml").read_text()
    assert "search" not in lock
    assert main(["train", "run/recipe.lock.yaml", "--out", "again"]) == 0
    assert Path("again/model.spnc").read_bytes() == Path("run/model.spnc").read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        ["smoothing={search: [0.3]}"],
        ["forest.0.beta={search: [0.4]}", "optimizer.max_iterations={search: [9]}"],
        ["residual={search: [none]}", "seed={search: [3]}", "search={tries: 5}"],
    ],
)
def test_a_search_over_one_value_is_the_plain_run_byte_for_byte(
    spec: str, settings: list[str]
) -> None:
    fixed = ["forest.0.beta=0.4", "optimizer.max_iterations=9"]
    plain = fixed + (["smoothing=0.3"] if "smoothing" in settings[0] else [])
    for run, values in (("searched", fixed + settings), ("plain", plain)):
        words = [word for value in values for word in ("--set", value)]
        assert main(["train", spec, "--out", run, *words]) == 0
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert Path("searched", name).read_bytes() == Path("plain", name).read_bytes()


def test_each_try_is_what_a_plain_run_with_its_values_gives(spec: str) -> None:
    """Also where the forest, or the whole circuit, was taken over from another try."""
    for outcome in spnc.train(spec).tries:
        alone = spnc.train(spec, [f"{name}={value}" for name, value in outcome.values.items()])
        assert outcome.valid == alone.scores["valid"]
        assert outcome.train == alone.scores["train"]
        assert outcome.edges == alone.metrics["model"]["edges"]


def counting(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> list[Any]:
    """Every call of a function from now on, by its arguments."""
    calls: list[Any] = []
    original = getattr(where, name)

    def count(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return original(*arguments, **named)

    monkeypatch.setattr(where, name, count)
    return calls


def test_data_is_read_once_and_a_forest_grown_once_for_all_that_share_it(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (compilation.grow, preparation.load) == (grow, load)
    grown = counting(monkeypatch, compilation, "grow")
    loaded = counting(monkeypatch, preparation, "load")
    lowered = counting(monkeypatch, compilation, "put_top_sum")
    # The seed varies fastest, so that equal forests are not side by side in the grid.
    found = spnc.train(spec, ["optimizer.max_iterations={search: [1, 2]}", "seed={search: [0, 1]}"])
    assert len(found.tries) == 8
    assert len(grown) == 4  # two betas, two seeds
    assert len(lowered) == 4  # how long is trained makes no other circuit
    assert len(loaded) == 1
    del grown[:]
    spnc.train(spec, ["forest.0.beta=0.4", "smoothing={search: [0.1, 0.2]}"])
    assert len(grown) == 2  # the learner's leaves depend on smoothing


def test_a_forest_is_copied_for_other_links_and_not_in_a_plain_run(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OddOne(NoLinks):
        """Links nothing as well, under another name."""

        plugin_name = "odd-one"

    assert "none" in RESIDUALS  # loaded, before one is added
    monkeypatch.setitem(RESIDUALS._outside, "odd-one", OddOne)
    grown = counting(monkeypatch, compilation, "grow")
    copied = counting(monkeypatch, Builder, "copy")
    one = ["forest.0.beta=0.4", "optimizer.max_iterations=3"]
    plain = spnc.train(spec, one)
    assert (len(grown), len(copied)) == (1, 0)
    found = spnc.train(spec, [*one, "residual={search: [none, odd-one]}"])
    assert (len(grown), len(copied)) == (2, 1)
    assert [t.valid for t in found.tries] == [plain.scores["valid"]] * 2
    assert [t.chosen for t in found.tries] == [True, False]  # ties go to the earlier


def test_the_test_rows_are_scored_once(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = CpuEngine.load

    def load_counting(self: Any, table: Any, **named: Any) -> Any:
        seen.append(int(table.weights.sum()))
        return original(self, table, **named)

    monkeypatch.setattr(CpuEngine, "load", load_counting)
    spnc.train(spec, "data.split=[0.6, 0.25, 0.15]")
    assert seen.count(750) == 1
    assert seen.count(1250) == 6  # each try looks at valid while it is fitted, and not again


def test_of_equals_the_earlier_is_chosen_and_impossible_rows_count_first() -> None:
    def outcome(number: int, *score: float) -> Outcome:
        return Outcome(number, {}, Score(*score), Score(), 1, 1, 0.0)

    assert outcome(1, -10, 10, 0).better_than(outcome(2, -10, 10, 0))
    assert not outcome(2, -10, 10, 0).better_than(outcome(1, -10, 10, 0))
    assert outcome(9, -10, 10, 0).better_than(outcome(1, -1, 9, 1))
    assert outcome(9, -10, 10, 0).better_than(None)


# ---- interruptions -------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 4])
def test_an_interrupted_search_goes_on_to_the_same_result(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: int
) -> None:
    assert main(["train", spec, "--out", "whole"]) == 0
    trained = counting(monkeypatch, one_try, "fit")
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "keep", interrupt_at(2, [at]))
        assert main(["train", spec, "--out", "cut"]) == 130
    said = capsys.readouterr().err
    assert "interrupted in try" in said
    assert Path("cut/checkpoint.safetensors").is_file()
    assert not Path("cut/model.spnc").exists()
    assert len(trained) == at + 1
    suggestion = said.split("continue with: spnc ")[1]
    assert main(shlex.split(suggestion)) == 0
    assert len(trained) == 6 + 1  # the interrupted one twice, no other
    assert tries_of("cut") == tries_of("whole")
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert Path("cut", name).read_bytes() == Path("whole", name).read_bytes()
    one, two = (json.loads(Path(r, "metrics.json").read_text()) for r in ("cut", "whole"))
    assert one["splits"] == two["splits"]
    names = sorted(p.name for p in Path("cut").iterdir())
    assert names == sorted(p.name for p in Path("whole").iterdir())


def test_a_search_that_is_interrupted_twice_is_resumed_without_its_folder_s_name(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["train", spec, "--out", "whole"]) == 0
    checkpoint = Path("runs/small/checkpoint.safetensors")
    for at in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "keep", interrupt_at(3, [at]))
            assert main(["train", spec, *(["--resume"] if at == 2 else [])]) == 130
        if at == 1:
            of_a_finished_try = checkpoint.read_bytes()
    # As if the second run had been killed just before it removed what had served.
    checkpoint.write_bytes(of_a_finished_try)
    assert main(["train", spec, "--resume"]) == 0
    assert tries_of("runs/small") == tries_of("whole")
    assert Path("runs/small/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_a_search_of_another_recipe_or_a_damaged_one_is_refused(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "keep", interrupt_at(2, [2]))
        assert main(["train", spec, "--out", "cut"]) == 130
    again = ["train", spec, "--out", "cut", "--resume"]
    for other in ("seed=4", "optimizer.max_iterations={search: [3, 9]}", "data.split_seed=1"):
        assert main([*again, "--set", other]) == 1
        assert "another recipe or other data" in capsys.readouterr().err
    Path("cut/checkpoint.safetensors").unlink()
    one = ["forest.0.beta=0.4", "optimizer.max_iterations=3", "seed=0", "search=none"]
    assert main([*again, *(part for setting in one for part in ("--set", setting))]) == 1
    assert "holds an unfinished search" in capsys.readouterr().err
    kept = Path("cut/search.json").read_text()
    for junk in ("junk", "{}", kept.replace('"total": -', '"total": "x-'), kept[: len(kept) // 2]):
        Path("cut/search.json").write_text(junk)
        assert main(again) == 1
        assert "E403" in capsys.readouterr().err
    Path("cut/search.json").write_text(kept)
    (best,) = Path("cut").glob("best-*.spnc")
    content = best.read_bytes()
    best.unlink()
    assert main(again) == 1
    best.write_bytes(content)
    assert main(again) == 0


def test_a_new_run_in_the_folder_keeps_nothing_of_a_search(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "keep", interrupt_at(2, [1]))
        assert main(["train", spec, "--out", "run"]) == 130
    names = {p.name for p in Path("run").iterdir()}
    assert {"search.json", "best-1.spnc", "checkpoint.safetensors"} <= names
    plain = ["--set", "forest.0.beta=0.4", "--set", "optimizer.max_iterations=2"]
    assert main(["train", spec, "--out", "run", "--overwrite", *plain]) == 0
    names = {p.name for p in Path("run").iterdir()}
    assert names == {"history.csv", "metrics.json", "model.spnc", "recipe.lock.yaml"}


def test_a_problem_in_one_try_says_in_which(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("never.spn").write_text(
        "circuit never\nvariables { a: binary }\nx = a ~ bernoulli(0)\nroot x\n"
    )
    Path("rows.csv").write_text("a\n" + "1\n" * 20)
    Path("never.yaml").write_text(
        "model: n\ndata: {source: rows.csv, split: [0.5, 0.25, 0.25]}\n"
        "forest: [{learner: circuit, file: never.spn}]\n"
        "optimizer: {max_iterations: 1}\nsmoothing: {search: [0.1, 0]}\n"
    )
    main(["train", "never.yaml", "--out", "run"])
    assert "in try" in capsys.readouterr().err


def test_json_output_has_the_search(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", spec, "--out", "run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(t["chosen"] for t in found["search"]["tries"]) == 1


def test_a_run_does_not_write_over_the_model_that_it_learns_from(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", spec, "--out", "first", "--set", "optimizer.max_iterations=3"]) == 0
    before = Path("first/model.spnc").read_bytes()
    component = "forest.0={learner: circuit, file: first/model.spnc}"
    again = ["train", spec, "--overwrite", "--set", component, "--set", "smoothing=0.2"]
    assert main([*again, "--out", "first"]) == 1
    assert "holds files that this spec needs" in capsys.readouterr().err
    assert Path("first/model.spnc").read_bytes() == before
    assert main([*again, "--out", "second"]) == 0

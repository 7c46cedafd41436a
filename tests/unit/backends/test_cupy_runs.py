"""Whole trainings on the stand-in for a device, and what is said where there is none."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import spnc
from spnc.backends.auto import passed_over
from spnc.backends.cupy import trouble
from spnc.cli import main
from spnc.registry import BACKENDS
from tests.stand_in.cupy_on_host import why_not
from tests.stand_in.devices import pretend
from tests.stand_in.errors import CUDARuntimeError

with_compiler = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
TINY = "specs/tiny.yaml"


def history(folder: Path) -> list[dict[str, float]]:
    """The learning curve that a run wrote."""
    with (folder / "history.csv").open(encoding="utf-8", newline="") as file:
        return [
            {name: float(row[name]) for name in ("iteration", "train", "valid")}
            for row in csv.DictReader(file)
        ]


def same_history(one: list[dict[str, float]], other: list[dict[str, float]]) -> None:
    assert len(one) == len(other) > 2
    for a, b in zip(one, other, strict=True):
        assert a["train"] == pytest.approx(b["train"], rel=1e-10)
        assert a["valid"] == pytest.approx(b["valid"], rel=1e-10)


@with_compiler
def test_training_from_the_command_line_has_the_history_of_numpy(monkeypatch, tmp_path) -> None:
    cupy = pretend(monkeypatch, "devices=1")
    assert cupy is not None
    found = {}
    for backend in ("cupy", "numpy"):
        folder = tmp_path / backend
        assert main(["train", TINY, "--backend", backend, "--out", str(folder), "--quiet"]) == 0
        found[backend] = history(folder)
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        assert metrics["backend"] == backend
    same_history(found["cupy"], found["numpy"])
    iterations = found["cupy"][-1]["iteration"]
    assert cupy.host.launches["edge_flows"] >= iterations
    assert {k.split("_")[0] for k in cupy.host.launches} >= {"leaves", "cell", "row", "root"}


@with_compiler
@pytest.mark.parametrize(
    "optimizer",
    [
        "{method: stepwise-em, max_iterations: 6, batch_rows: 100}",
        "{method: sgd, max_iterations: 6, batch_rows: 100}",
        "{method: em, max_iterations: 6, dropout: 0.2}",
    ],
)
def test_every_optimizer_runs_on_it(monkeypatch, optimizer: str) -> None:
    pretend(monkeypatch, "devices=1")
    runs = [
        spnc.train(TINY, [f"optimizer={optimizer}", f"backend={backend}"])
        for backend in ("cupy", "numpy")
    ]
    one, other = ([r.train for r in run.fitted.history] for run in runs)
    assert one == pytest.approx(other, rel=1e-9)


@with_compiler
def test_the_same_run_gives_the_same_bits(monkeypatch) -> None:
    pretend(monkeypatch, "devices=1")
    one, other = (spnc.train(TINY, "backend=cupy") for _ in range(2))
    assert one.model.parameters.weights.tobytes() == other.model.parameters.weights.tobytes()
    assert [r.train for r in one.fitted.history] == [r.train for r in other.fitted.history]


@with_compiler
def test_single_precision_trains_about_as_well(monkeypatch) -> None:
    pretend(monkeypatch, "devices=1")
    scores = [
        spnc.train(TINY, ["backend.name=cupy", f"backend.precision={kind}"]).scores["valid"].average
        for kind in ("float32", "float64")
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


@pytest.mark.parametrize("rows", ["0", "-5", "many"])
def test_inspect_wants_a_number_of_rows(rows: str, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["inspect", TINY, "--backend", "cupy", "--rows", rows])
    assert end.value.code == 2
    assert f"{rows} is not a number of rows" in capsys.readouterr().err
    assert main(["inspect", TINY, "--rows", "5"]) == 2


@pytest.mark.parametrize("machine", ["no-headers", "full", "unknown-architecture", "twice"])
def test_auto_falls_back_whatever_is_wrong_with_the_device(machine: str, monkeypatch) -> None:
    pretend(monkeypatch, machine)
    backend = BACKENDS["auto"]()
    assert backend.resolved().plugin_name == "numba"
    assert passed_over(backend) is not None


def test_a_bug_of_ours_stays_one(monkeypatch) -> None:
    """An illegal address is not the machine's fault: no diagnostic hides it."""
    cupy = pretend(monkeypatch, "devices=1")
    assert cupy is not None
    with pytest.raises(CUDARuntimeError), trouble.explained(cupy):
        raise CUDARuntimeError(700)


@with_compiler
def test_auto_takes_the_device(monkeypatch) -> None:
    pretend(monkeypatch, "devices=1")
    assert BACKENDS["auto"]().resolved().plugin_name == "cupy"


def test_auto_falls_back_to_the_processor_and_says_so(monkeypatch, tmp_path, capsys) -> None:
    pretend(monkeypatch, "no-driver")
    assert BACKENDS["auto"]().resolved().plugin_name == "numba"
    assert main(["train", TINY, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert "no GPU: no NVIDIA driver is installed (E703)\n" in capsys.readouterr().out


def test_nobody_is_told_of_a_device_that_nobody_has(monkeypatch, tmp_path, capsys) -> None:
    pretend(monkeypatch, "no-cupy")
    monkeypatch.setattr("spnc.backends.cupy.trouble.driver_found", lambda: False)
    assert main(["train", TINY, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert "GPU" not in capsys.readouterr().out


def test_a_driver_without_cupy_is_told(monkeypatch, tmp_path, capsys) -> None:
    pretend(monkeypatch, "no-cupy")
    assert main(["train", TINY, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert "no GPU: the cupy backend needs CuPy, which is not installed (E701)" in (
        capsys.readouterr().out
    )


def test_inspect_says_what_a_device_would_need(capsys) -> None:
    assert main(["inspect", TINY, "--backend", "cupy", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)["cupy"]
    double, single = found["float64"], found["float32"]
    assert double["room_bytes"] > single["room_bytes"] > double["room_bytes"] / 2
    assert double["em"]["launches"] == single["em"]["launches"] < 40
    assert double["em"]["operations_per_byte"] < single["em"]["operations_per_byte"]
    assert main(["inspect", TINY, "--backend", "cupy", "--rows", "5000", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "cupy, 256 distinct rows" in text  # of eight binary columns there are no more
    assert "launches for an EM iteration" in text

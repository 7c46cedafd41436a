"""What is learned before training is kept: a run that is killed learns nothing twice."""

from __future__ import annotations

import copy
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.common.observer import Observer
from spnc.common.sealed import read_sealed_arrays, sealed_arrays
from spnc.diagnostics import Sink
from spnc.runs import kept_data, kept_work
from spnc.runs.kept_work import WorkFolder

MIXED = {"source": "builtin:penguins", "split": [0.7, 0.15, 0.15]}
DISCRETE = {"source": "states.csv", "split": [0.7, 0.15, 0.15]}
FEW = {"method": "em", "max_iterations": 2}
TREES = {"learner": "extra-spn", "count": 3, "gamma": 30}

SPECS: dict[str, dict[str, Any]] = {
    "components": {"data": MIXED, "forest": [TREES]},
    "learn-spn": {"data": MIXED, "forest": [{"learner": "learn-spn"}]},
    "learn-spn, trees": {
        "data": DISCRETE,
        "forest": [{"learner": "learn-spn", "leaves": "chow-liu", "rows": "kmeans"}],
    },
    "fitted alone": {
        "data": MIXED,
        "forest": [{"learner": "hclt", "states": 2, "count": 2, "fit": 4}],
    },
    "refined": {
        "data": MIXED,
        "forest": [{"learner": "hclt", "states": 2, "count": 2, "fit": 2, "refine": True}],
        "objective": {"kind": "conditional", "target": ["species"], "max_iterations": 3},
        "optimizer": {"method": "em", "max_iterations": 0},
    },
    "decoder": {
        "data": DISCRETE,
        "forest": [
            {"learner": "continuous-mixture", "points": 8, "steps": 8, "settling": 4, "noise": 0.1}
        ],
    },
    "decoder, plain": {
        "data": DISCRETE,
        "forest": [
            {
                "learner": "continuous-mixture",
                "points": 8,
                "steps": 4,
                "settling": 3,
                "tree": "plain",
                "batch_rows": 200,
            }
        ],
    },
    "decoder, in partitions": {
        "data": {**DISCRETE, "partition_rows": 120},
        "forest": [
            {"learner": "continuous-mixture", "points": 8, "steps": 12, "settling": 8}
            | {"batch_rows": 100}
        ],
    },
    "decoder, numbers": {
        "data": MIXED,
        "forest": [
            {"learner": "continuous-mixture", "points": 8, "steps": 8, "settling": 4}
            | {"batch_rows": 100, "leaves": {"real": "warped-gaussian"}}
        ],
    },
    "decoder, numbers in partitions": {
        "data": {**MIXED, "partition_rows": 100},
        "forest": [
            {"learner": "continuous-mixture", "points": 8, "steps": 12, "settling": 8}
            | {"batch_rows": 60}
        ],
    },
    "informed links": {
        "data": DISCRETE,
        "forest": [TREES],
        "residual": {"strategy": "informed", "warm_up": 2, "ratio": 0.3},
    },
    "best links": {
        "data": DISCRETE,
        "forest": [TREES],
        "residual": {"strategy": "best-gain", "warm_up": 2, "ratio": 0.3},
    },
    "greedy links": {
        "data": MIXED,
        "forest": [TREES],
        "residual": {"strategy": "greedy-bfs", "targets": "all"},
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of dependent columns with few states; links are judged in batches."""
    rng = np.random.default_rng(3)
    group = rng.integers(3, size=(400, 1))
    noise = rng.integers(3, size=(400, 8))
    states = np.where(rng.random((400, 8)) < 0.6, group, noise)
    rows = [",".join(map(str, row)) for row in states.tolist()]
    (tmp_path / "states.csv").write_text("\n".join([",".join("abcdefgh"), *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spnc.learners.continuous_mixture.dealt_batches.BLOCK_CELLS", 3 * 800)
    monkeypatch.setattr("spnc.residuals.informed._BATCH", 12)
    monkeypatch.setattr("spnc.residuals.best_gain._BATCH", 12)
    return tmp_path


class Killed(BaseException):
    """Ends a run as a kill would: nothing catches it."""


@contextmanager
def killed_after(
    writes: int | None, monkeypatch: pytest.MonkeyPatch, *, every: int = 1
) -> Iterator[list[str]]:
    """Keep work at every `every`-th opportunity; end the run after `writes` writes.

    Yield what was written.
    """
    written: list[str] = []
    asked = itertools.count(1)
    write = WorkFolder._write

    def writing(self: WorkFolder, name: str, piece: Any) -> bool:
        found = write(self, name, piece)
        written.append(name)
        if writes is not None and len(written) > writes:
            raise Killed
        return found

    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "is_due", lambda _: next(asked) % every == 0)
        patch.setattr(WorkFolder, "_write", writing)
        yield written


@pytest.mark.parametrize("name", SPECS)
def test_a_run_that_is_killed_goes_on_to_the_same_bits(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"model": "m", "optimizer": FEW, **SPECS[name]}
    spnc.train(spec, out="whole")
    want = (folder / "whole/model.spnc").read_bytes()

    with killed_after(None, monkeypatch) as written:
        spnc.train(spec, out="unkilled")
    assert (folder / "unkilled/model.spnc").read_bytes() == want
    total, kills, out = len(written), 0, folder / "killed"
    assert total >= 2
    while not (out / "model.spnc").exists():
        with killed_after(max(1, total // 3), monkeypatch):
            try:
                spnc.train(spec, out=out, resume=True)
            except Killed:
                kills += 1
                assert kills < 6
                assert list((out / "kept-work").iterdir())
    assert kills > 0
    assert (out / "model.spnc").read_bytes() == want
    assert not (out / "kept-work").exists()


def test_what_was_not_due_at_once_is_kept_with_what_comes_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"model": "m", "data": MIXED, "forest": [{**TREES, "count": 5}], "optimizer": FEW}
    spnc.train(spec, out="whole")
    with killed_after(3, monkeypatch, every=4) as written, pytest.raises(Killed):
        spnc.train(spec, out="killed", resume=True)
    assert [name.partition(", ")[2] for name in written] == [
        f"component {i}, done" for i in range(4)
    ]
    with killed_after(None, monkeypatch) as written:
        spnc.train(spec, out="killed", resume=True)
    assert not any(f"component {i}" in name for i in range(4) for name in written)
    assert Path("killed/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_a_search_that_is_killed_goes_on_to_the_same_bits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = [{**TREES, "beta": {"search": [0.4, 0.6]}}]
    optimizer = {"method": "em", "max_iterations": {"search": [1, 2]}}
    spec = {"model": "m", "data": MIXED, "forest": forest, "optimizer": optimizer}
    spnc.train(spec, out="whole")
    kills, out, every = 0, folder / "killed", []
    while not (out / "model.spnc").exists():
        with killed_after(2, monkeypatch) as written:
            try:
                spnc.train(spec, out=out, resume=True)
            except Killed:
                kills += 1
        every += written
    assert kills > 1
    assert (out / "model.spnc").read_bytes() == (folder / "whole/model.spnc").read_bytes()
    assert not (out / "kept-work").exists()
    # Two forests of three components, none of which was learned twice.
    assert sum("component" in name for name in every) == 6


@pytest.fixture
def unfinished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Path]:
    """A spec, and the folder of a run of it that was killed while it learned components."""
    spec = {"model": "m", "data": MIXED, "forest": [TREES], "optimizer": FEW}
    with killed_after(1, monkeypatch), pytest.raises(Killed):
        spnc.train(spec, out="killed", resume=True)
    return spec, folder / "killed"


def test_damaged_work_is_done_again(unfinished: tuple[dict[str, Any], Path]) -> None:
    spec, out = unfinished
    whole = spnc.train(spec, out="whole")
    file = max((out / "kept-work").iterdir())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    found = spnc.train(spec, out=out, resume=True)
    assert [d.code for d in found.diagnostics] == ["W405"]
    assert "checksum" in str(found.diagnostics[0].notes)
    assert [d.code for d in whole.diagnostics] == []
    assert (out / "model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_every_changed_bit_of_kept_work_is_noticed(
    unfinished: tuple[dict[str, Any], Path],
) -> None:
    _, out = unfinished
    for file in (out / "kept-work").iterdir():
        content = file.read_bytes()
        header = content[: 8 + int.from_bytes(content[:8], "little")]
        name = json.loads(json.loads(header[8:])["__metadata__"][kept_work.FORMAT])["name"]
        print_of = kept_work.fingerprints(out / "kept-work", but="data")
        sink = Sink()
        folder = WorkFolder(out / "kept-work", *print_of, sink, lambda: None, resuming=True)
        assert folder.load(name) is not None
        rng = np.random.default_rng(0)
        places = [*range(len(header)), *rng.integers(len(content), size=300).tolist()]
        for place in places:
            changed = bytearray(content)
            changed[place] ^= 1 << int(rng.integers(8))
            file.write_bytes(changed)
            assert folder.load(name) is None, place
        file.write_bytes(content)


def test_work_of_another_recipe_or_other_data_is_refused(
    unfinished: tuple[dict[str, Any], Path],
) -> None:
    spec, out = unfinished
    for other in ({**spec, "seed": 3}, {**spec, "data": DISCRETE}):
        with pytest.raises(spnc.InputError, match=r"E403.*another recipe or other data"):
            spnc.train(other, out=out, resume=True)
    assert len(list((out / "kept-work").iterdir())) == 2


FORGERIES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "no root": lambda about, _: about.pop("root"),
    "a root that is not there": lambda about, _: about.update(root=10**6),
    "a leaf of no column": lambda _, arrays: arrays["variables"].__setitem__(0, 99),
    "an unknown distribution": lambda about, _: about.update(distributions=["x"]),
    "too few parameters": lambda _, arrays: arrays.update(parameters=arrays["parameters"][:-1]),
    "edges to nowhere": lambda _, arrays: arrays["children"].__setitem__(0, 10**6),
    "an edge that has one end": lambda _, arrays: arrays["parents"].__setitem__(-1, 0),
    "an unknown kind of node": lambda _, arrays: arrays["kinds"].__setitem__(0, 7),
    "no array": lambda _, arrays: arrays.pop("rows"),
}


def test_forged_components_are_not_used(unfinished: tuple[dict[str, Any], Path]) -> None:
    """Whatever its checksum says, what does not fit together is learned again."""
    spec, out = unfinished
    spnc.train(spec, out="whole")
    file = min((out / "kept-work").iterdir())
    about, kept = read_sealed_arrays(kept_work.FORMAT, file.read_bytes())
    about.pop("sha256")
    for forgery, change in FORGERIES.items():
        forged = copy.deepcopy(about)
        arrays = {name: array.copy() for name, array in kept.items()}
        change(forged["kept"], arrays)
        copied = out.with_name(forgery)
        shutil.copytree(out, copied)
        (copied / "kept-work" / file.name).write_bytes(
            sealed_arrays(kept_work.FORMAT, forged, arrays)
        )
        found = spnc.train(spec, out=copied, resume=True)
        assert [d.code for d in found.diagnostics] == ["W405"], forgery
        assert (copied / "model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


def test_interrupted_while_it_learns_a_run_says_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"model": "m", "data": MIXED, "forest": [TREES], "optimizer": FEW}

    class Interrupts(Observer):
        def progress(self, label: str, done: int, total: int | None) -> None:
            if label == "components" and done == 2:
                raise KeyboardInterrupt

    with killed_after(None, monkeypatch), pytest.raises(spnc.Interrupted) as caught:
        spnc.train(spec, out="stopped", progress=Interrupts())
    assert "--out stopped --resume" in str(caught.value)
    spnc.train("stopped/recipe.lock.yaml", out="stopped", resume=True)
    spnc.train(spec, out="whole")
    assert Path("stopped/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()


HEADER = "a,b,c,w\n"
WEIGHTED = """\
red,1.5,2024-01-03,1
blue,2.25,2024-02-03,2
red,,2024-03-04,1
,3.5,2024-05-01,4
blue,2.5,2024-05-07,2
"""


def test_data_that_took_long_to_read_are_not_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rows.csv").write_text(HEADER + WEIGHTED * 8)
    data = {"source": "rows.csv", "weight": "w", "split": [0.6, 0.2, 0.2]}
    spec = {"model": "m", "data": data, "forest": [TREES], "optimizer": FEW}
    whole = spnc.train(spec, out="whole")
    monkeypatch.setattr(kept_data, "SECONDS", 0.0)
    with killed_after(1, monkeypatch) as written, pytest.raises(Killed):
        spnc.train(spec, out="killed", resume=True)
    assert written[0] == "data"

    def not_again(*_: Any, **__: Any) -> None:
        raise AssertionError("the data were read again")

    with monkeypatch.context() as patch:
        patch.setattr(kept_data, "load", not_again)
        found = spnc.train(spec, out="killed", resume=True)
    assert Path("killed/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
    said = [(d.code, d.message) for d in found.diagnostics]
    assert said == [(d.code, d.message) for d in whole.diagnostics]
    assert not Path("killed/kept-work").exists()


def test_kept_data_are_those_of_the_files_as_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rows.csv").write_text(HEADER + WEIGHTED * 8)
    spec = {"model": "m", "data": "rows.csv", "forest": [TREES], "optimizer": FEW}
    monkeypatch.setattr(kept_data, "SECONDS", 0.0)
    with killed_after(0, monkeypatch), pytest.raises(Killed):
        spnc.train(spec, out="killed", resume=True)
    (folder / "rows.csv").write_text(HEADER + WEIGHTED.replace("red", "green") * 8)
    spnc.train(spec, out="killed", resume=True)
    model = spnc.load("killed/model.spnc")
    assert "green" in (model.columns[0].labels or ())

"""A run folder as a state machine: trained into, killed, resumed, damaged, restored and read.

Whatever happens, a model in the folder has the bits of an undisturbed training, what is damaged is
refused or makes no difference, and what was refused has changed nothing.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import spnc
from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.model import to_bytes
from spnc.reports.facts.reading import read_run
from spnc.runs import folder as run_folder
from spnc.runs.in_use import NAME as IN_USE
from tests.interrupting import InterruptsAt, Killed, killing
from tests.sealing import flipped

TEXT = """model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest: [{learner: extra-spn, count: COUNT, min_instances: 600}]
optimizer: {max_iterations: 3}
backend: numpy
"""
COUNTS = {"single": "2", "search": "{search: [1, 2]}"}
# Every file is flushed to the disk, which takes longer than these trainings.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
LEFT_BY_A_KILL = {"host": "here", "process": 1, "since": "2026-01-01T00:00:00+00:00"}

# What is drawn does not depend on the files: they hold times, and so have many sizes.
PLACES = st.integers(0, 10**6)
DAMAGES = st.sampled_from(["bit", "cut", "more"])

Key = tuple[str, int]  # a spec, and the seed
KEYS = st.tuples(st.sampled_from(sorted(COUNTS)), st.integers(0, 1))
# Left alone, interrupted at an iteration, or killed before or after a write.
WAYS = st.one_of(st.integers(0, 3), st.tuples(st.integers(1, 12), st.booleans()), st.none())


def train(key: Key, out: Path, **more: object) -> None:
    spec = out.with_name(f"{key[0]}.yaml")
    spec.write_text(TEXT.replace("COUNT", COUNTS[key[0]]), encoding="utf-8")
    spnc.train(spec, [f"seed={key[1]}"], out=out, **more)  # type: ignore[arg-type]


@cache
def undisturbed(key: Key) -> bytes:
    """The model of a training that nothing happens to."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
        train(key, Path(name, "run"))
        return Path(name, "run/model.spnc").read_bytes()


TIMES = (IN_USE, "search.json", "time-used.json")  # any attempt writes them anew: they hold times


def _lasting(files: dict[Path, bytes]) -> dict[Path, bytes]:
    """Return the files that an attempt that is refused has to leave as they are."""
    return {path: content for path, content in files.items() if path.name not in TIMES}


class RunFolders(RuleBasedStateMachine):
    """One run folder. `keys` are the trainings whose model may be in it."""

    @initialize()
    def prepare(self) -> None:
        self.home = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.run = self.home / "run"
        self.keys: set[Key] = set()
        self.intact: dict[Path, bytes] = {}  # what damaged files held before
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(run_folder, "CHECKPOINT_SECONDS", 0.0)

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.home)

    def files(self) -> dict[Path, bytes]:
        found = (path for path in sorted(self.run.rglob("*")) if path.is_file())
        return {path: path.read_bytes() for path in found}

    @property
    def is_damaged(self) -> bool:
        found = self.files()
        self.intact = {p: c for p, c in self.intact.items() if p in found}
        return any(found[path] != content for path, content in self.intact.items())

    def attempt(self, key: Key, way: int | tuple[int, bool] | None, **more: object) -> bool:
        """Train, and let happen what is to happen. Return whether that was not refused."""
        before = self.files()
        self.intact = {p: c for p, c in self.intact.items() if p in before}
        progress = InterruptsAt(way) if isinstance(way, int) else False
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(way, tuple):
                patch.setattr(pathlib.Path, "replace", killing(way[0], before=way[1]))
            try:
                train(key, self.run, progress=progress, **more)
            except spnc.InputError:
                assert not more.get("overwrite")
                assert _lasting(self.files()) == _lasting(before)
                return False
            except (spnc.Interrupted, Killed) as error:
                self.keys.add(key)
                now = self.files()  # what was written again is no longer damaged
                self.intact = {p: c for p, c in self.intact.items() if now.get(p) == before[p]}
                if isinstance(error, Killed) and self.run.is_dir():
                    (self.run / IN_USE).write_text(json.dumps(LEFT_BY_A_KILL))
                return True
        self.keys, self.intact = {key}, {}
        assert (self.run / "model.spnc").read_bytes() == undisturbed(key)
        return True

    @rule(key=KEYS, way=WAYS)
    def begin_or_resume(self, key: Key, way: int | tuple[int, bool] | None) -> None:
        """As a script that retries: another recipe than that of the folder is refused."""
        self.attempt(key, way, resume=True)

    @rule(way=WAYS)
    def resume(self, way: int | tuple[int, bool] | None) -> None:
        """Also a finished run is resumed: then nothing happens."""
        if len(self.keys) != 1:
            return
        damaged = self.is_damaged
        (key,) = self.keys
        assert self.attempt(key, way, resume=True) or damaged
        if way is None and not damaged:
            assert (self.run / "model.spnc").is_file()

    @rule(key=KEYS)
    def train_without_asking(self, key: Key) -> None:
        """What is in a folder is not overwritten unasked."""
        taken = self.run.is_dir() and any(p.name != IN_USE for p in self.run.iterdir())
        before = self.files()
        self.attempt(key, None)
        assert not taken or _lasting(self.files()) == _lasting(before)

    @rule(key=KEYS, way=WAYS)
    def overwrite(self, key: Key, way: int | tuple[int, bool] | None) -> None:
        self.attempt(key, way, overwrite=True)

    @rule(which=PLACES, at=PLACES, how=DAMAGES)
    def damage(self, which: int, at: int, how: str) -> None:
        """Change a bit of a file, cut it short, or write something behind it."""
        found = self.files()
        if not found:
            return
        path = sorted(found)[which % len(found)]
        content = found[path]
        self.intact.setdefault(path, content)
        if how == "bit" and content:
            path.write_bytes(flipped(content, at % (8 * len(content))))
        elif how == "cut" and content:
            path.write_bytes(content[: at % len(content)])
        else:
            path.write_bytes(content + b"more"[at % 4 :])

    @rule(key=KEYS, iteration=st.integers(0, 2), at=st.lists(PLACES, min_size=2, max_size=2))
    def damage_and_resume(self, key: Key, iteration: int, at: list[int]) -> None:
        """Change a bit of each file that an interrupted run has kept: refused, or no matter."""
        self.attempt(key, iteration, overwrite=True)
        kept = self.files()
        for path, place in product(sorted(kept), at):
            shutil.rmtree(self.run)
            self.run.mkdir()
            for file, content in kept.items():
                file.write_bytes(content)
            path.write_bytes(flipped(kept[path], place % (8 * len(kept[path]))))
            self.keys, self.intact = {key}, {path: kept[path]}
            self.attempt(key, None, resume=True)

    @rule()
    def restore(self) -> None:
        for path, content in self.intact.items():
            if path.is_file():
                path.write_bytes(content)
        self.intact = {}

    @rule()
    def load(self) -> None:
        """A model is loaded as it was written, or refused."""
        model = self.run / "model.spnc"
        if not model.is_file():
            return
        try:
            found = to_bytes(spnc.load(model))
        except spnc.InputError:
            assert model in self.intact
            return
        assert found in {undisturbed(key) for key in self.keys}

    @rule()
    def report(self) -> None:
        """A report is made of a finished run whose files are all as they were written."""
        sink = Sink()
        found = read_run(self.run, sink, Observer(), with_data=False)
        assert (found is None) == sink.failed
        if found is None:
            whole = (self.run / "model.spnc").is_file() and len(self.keys) == 1
            assert not whole or self.is_damaged
            return
        assert to_bytes(found.model) in {undisturbed(key) for key in self.keys}

    @invariant()
    def a_model_is_that_of_an_undisturbed_training(self) -> None:
        model = self.run / "model.spnc"
        if model.is_file() and model not in self.intact:
            assert model.read_bytes() in {undisturbed(key) for key in self.keys}


RunFolders.TestCase.settings = settings(
    max_examples=25, stateful_step_count=8, deadline=None, phases=[Phase.generate]
)
TestRunFolders = RunFolders.TestCase

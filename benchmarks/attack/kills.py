"""Trainings killed with SIGKILL at random moments, resumed, and compared with undisturbed ones."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.attack.kinds import KINDS, LONG, Kind
from benchmarks.attack.trainee import USUAL
from benchmarks.timing.workers import ROOT
from spnc.runs.in_use import NAME as IN_USE

OFTEN = "0.5"  # seconds between checkpoints of short trainings
MOST_IN_A_RUN = 8  # kills; then the run is left to end
MOST_IN_A_LONG_RUN = 20  # kills; by then it has to have ended
PATIENCE = 300.0  # seconds without an end after which a run counts as failed
_POLL = 0.002  # seconds
AT_ONCE = 2  # trainings side by side

Say = Callable[[str], None]


@dataclass(eq=False)
class Trainee:
    """A training as a process of its own; `held` is how long it has had its run folder."""

    process: subprocess.Popen[str]
    run: Path
    held: float = 0.0
    _began: float | None = field(default=None)
    _said: str | None = None  # on standard error, once it has ended

    @staticmethod
    def start(arguments: list[str], run: Path, *more: str, keeping: str = OFTEN) -> Trainee:
        """Start a training into a folder."""
        command = [sys.executable, "-m", "benchmarks.attack.trainee", keeping]
        process = subprocess.Popen(
            [*command, *arguments, "--out", str(run), "--quiet", *more],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        return Trainee(process, run)

    def wait(self, holding: float = PATIENCE, running: float = PATIENCE) -> bool:
        """Wait until it has had its folder, or has run, for so long. Return whether it ended."""
        limit = time.monotonic() + running
        while self.process.poll() is None:
            now = time.monotonic()
            if self._began is None and self._holds():
                self._began = now
            if self._began is not None:
                self.held = now - self._began
                if self.held >= holding:
                    return False
            if now > limit:
                return False
            time.sleep(_POLL)
        return True

    def _holds(self) -> bool:
        """Return whether the folder says that this process uses it."""
        with suppress(OSError, ValueError, LookupError, TypeError):
            about = json.loads((self.run / IN_USE).read_text(encoding="utf-8"))
            return bool(about["process"] == self.process.pid)
        return False

    def kill(self) -> bool:
        """Kill it. Return whether it was still running."""
        self.process.kill()
        self._said = self.process.communicate()[1]
        return self.process.returncode < 0

    def trouble(self) -> str | None:
        """Return why an ended training failed; None if it did not."""
        if self._said is None:
            self._said = self.process.communicate()[1]
        said = self._said.strip().splitlines()
        code = self.process.returncode
        if code == 0:
            return None
        return f"exit {code}: {said[0] if said else 'nothing said'}"


@dataclass(eq=False)
class Attack:
    """All kills of one kind of training; `problems` are runs that failed, or ended otherwise."""

    kind: Kind
    folder: Path
    random: random.Random
    kills: int = 0
    runs: int = 0
    other_bits: int = 0
    redone: list[float] = field(default_factory=list)  # seconds per kill, a number for each run
    problems: list[str] = field(default_factory=list)

    def carry_out(self, kills: int, say: Say) -> dict[str, Any]:
        """Train undisturbed, then with `kills` kills in all. Return the record."""
        arguments = self.kind.arguments(self.folder)
        say(f"kills: {self.kind.name}, undisturbed")
        whole = self._start(arguments, self.folder / "whole")
        if not whole.wait():
            whole.kill()
        trouble = whole.trouble()
        if trouble is not None:
            return self._record(0.0, [f"undisturbed: {trouble}"])
        while self.kills < kills and len(self.problems) < 3:
            say(f"kills: {self.kind.name}, {self.kills} of {kills}")
            here = min(self.random.randint(1, MOST_IN_A_RUN), kills - self.kills)
            self._disturb(arguments, whole, MOST_IN_A_LONG_RUN if self.kind.every else here)
        return self._record(whole.held, self.problems)

    def _start(self, arguments: list[str], run: Path, *more: str) -> Trainee:
        keeping = USUAL if self.kind.every else OFTEN
        return Trainee.start(arguments, run, *more, keeping=keeping)

    def _record(self, undisturbed: float, problems: list[str]) -> dict[str, Any]:
        return {
            "kind": self.kind.name,
            "kills": self.kills,
            "runs": self.runs,
            "undisturbed_seconds": round(undisturbed, 2),
            "redone_seconds": [round(value, 2) for value in self.redone],
            "other_bits": self.other_bits,
            "problems": problems,
        }

    def _disturb(self, arguments: list[str], whole: Trainee, kills: int) -> None:
        """Train once with some kills, and compare the outcome."""
        run = self.folder / f"run-{self.runs}"
        self.runs += 1
        held, killed = 0.0, 0
        kept: list[float] = []
        while True:
            trainee = self._start(arguments, run, "--resume")
            ended = self._wait(trainee, whole.run) if killed < kills else trainee.wait()
            was_killed = not ended and trainee.kill()
            held += trainee.held
            if not was_killed:
                break
            killed += 1
            if killed > kills:
                self.problems.append(f"no end after {PATIENCE:g} s")
                return
            kept = self._tries(run / "search.json") or kept
        self.kills += killed
        trouble = trainee.trouble()
        if trouble is not None:
            self.problems.append(trouble)
            return
        if killed:
            self.redone.append((held - whole.held) / killed)
        wrong = self._wrong(run, whole.run, kept)
        if wrong is not None:
            self.other_bits += 1
            self.problems.append(wrong)

    def _wait(self, trainee: Trainee, whole: Path) -> bool:
        """Wait for the moment of a kill. Return whether the training ended before."""
        if self.kind.every is not None:
            return trainee.wait(running=self.kind.every)
        begins, ends = self.kind.window(whole)
        return trainee.wait(begins + self.random.random() * (ends - begins))

    def _tries(self, journal: Path) -> list[float]:
        """Return the scores of the tries that a killed search has kept."""
        with suppress(OSError, ValueError, LookupError):
            tries = json.loads(journal.read_text(encoding="utf-8"))["tries"]
            return [t["valid"]["total"] / t["valid"]["possible"] for t in tries]
        return []

    def _wrong(self, run: Path, whole: Path, kept: list[float]) -> str | None:
        """Return what is wrong with the outcome of a run.

        `--auto` tries what there is time for, so its outcome is not always the same: it has to
        choose the best of its tries, none of which is lost, and its recipe has to make its model.
        """
        if self.kind.spec is not None:
            names = ("model.spnc", "recipe.lock.yaml")
            return _first_difference([(run / name, whole / name) for name in names])
        with (run / "tries.csv").open(encoding="utf-8", newline="") as file:
            tries = list(csv.DictReader(file))
        scores = [float(t["valid"]) for t in tries]
        if [float(t["valid"]) for t in tries if t["chosen"] == "true"] != [max(scores)]:
            return "the chosen try is not the best"
        if scores[: len(kept)] != kept:
            return f"of {len(kept)} tries that were kept, some are lost or have changed"
        again = self.folder / f"again-{self.runs}"
        made = Trainee.start(["train", str(run / "recipe.yaml")], again)
        made.wait()
        trouble = made.trouble()
        if trouble is not None:
            return f"recipe.yaml: {trouble}"
        return _first_difference([(run / "model.spnc", again / "model.spnc")])


def _first_difference(pairs: list[tuple[Path, Path]]) -> str | None:
    for one, other in pairs:
        if not one.is_file() or one.read_bytes() != other.read_bytes():
            return f"another {one.name}"
    return None


def attack(
    folder: Path, kills: int, seed: int, say: Say, *, with_long: bool
) -> list[dict[str, Any]]:
    """Kill all kinds of training, two at a time, `kills` times in all. Return their records.

    The long training, if it takes part, is killed as often as its time needs, beside the others.
    """
    shares = [kills // len(KINDS) + (i < kills % len(KINDS)) for i in range(len(KINDS))]
    kinds = [*KINDS, *([LONG] if with_long else [])]
    attacks = []
    for number, kind in enumerate(kinds):
        place = folder / str(number)
        place.mkdir()
        attacks.append(Attack(kind, place, random.Random(seed * len(KINDS) + number)))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # The long one first: nothing is left to run beside it at the end.
        long = [pool.submit(each.carry_out, 1, say) for each in attacks[len(KINDS) :]]
        short = [
            pool.submit(each.carry_out, share, say)
            for each, share in zip(attacks, shares, strict=False)
        ]
        return [job.result() for job in short + long]

"""The run folder of a training: model, metrics, history, lock file, checkpoint while running."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from spnc.atomic import write_bytes, write_text
from spnc.diagnostics import Sink
from spnc.pipeline import Compiled, Trained, versions
from spnc.program import Parameters
from spnc.spec.recipe import Lock, Recipe
from spnc.spec.relocate import relocated
from spnc.spec.write_yaml import write_yaml
from spnc.training import Record, State

CHECKPOINT_SECONDS = 30.0
_FORMAT = "spnc-checkpoint"


@dataclass(eq=False)
class RunFolder:
    """Where one training keeps its files. `save_checkpoint` is called on every iteration."""

    path: Path
    fingerprint: str = ""
    latest: State | None = None
    _saved_at: float = 0.0

    @property
    def model(self) -> Path:
        """The trained model."""
        return self.path / "model.spnc"

    @property
    def checkpoint(self) -> Path:
        """Where training stands, while it runs."""
        return self.path / "checkpoint.safetensors"

    def keep(self, state: State) -> None:
        """Remember the state; write it when the last write is some time ago."""
        self.latest = state
        if time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS:
            self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Write the latest state, if there is one."""
        if self.latest is not None:
            write_bytes(self.checkpoint, _state_bytes(self.latest, self.fingerprint))
            self._saved_at = time.monotonic()

    def begin(self, compiled: Compiled) -> None:
        """Make the folder, with the lock file in it: from here on the run can be resumed."""
        self.fingerprint = _fingerprint(compiled)
        self._saved_at = time.monotonic()
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.path / "recipe.lock.yaml", lock_text(compiled, self.path))

    def finish(self, trained: Trained) -> None:
        """Write the results; the checkpoint has served."""
        trained.model.save(self.model)
        text = json.dumps(trained.metrics, indent=2)
        write_text(self.path / "metrics.json", text + "\n")
        write_text(self.path / "history.csv", _history_text(trained.fitted.history))
        self.checkpoint.unlink(missing_ok=True)

    def read_checkpoint(self, compiled: Compiled, sink: Sink) -> State | None:
        """The state to go on from, or None after reporting why there is none."""
        from safetensors import SafetensorError, safe_open

        where = str(self.checkpoint)
        if not self.checkpoint.is_file():
            done = "; it is finished" if self.model.is_file() else ""
            sink.error(
                "E403",
                f"there is nothing to resume in `{self.path}`{done}",
                where=str(self.path),
                help="train without --resume",
            )
            return None
        try:
            with safe_open(where, framework="numpy") as file:
                about = json.loads((file.metadata() or {})[_FORMAT])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            state = _state_from(about, tensors)
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            sink.error(
                "E403",
                "the checkpoint cannot be read",
                where=where,
                notes=[str(error).splitlines()[0]],
                help="train without --resume",
            )
            return None
        if about["fingerprint"] != _fingerprint(compiled):
            sink.error(
                "E403",
                "the checkpoint is of another recipe or other data",
                where=where,
                help="resume with the recipe that began the run "
                f"({self.path / 'recipe.lock.yaml'}), or train into another folder",
            )
            return None
        return state


def lock_text(compiled: Compiled, folder: Path) -> str:
    """A spec that repeats the run: every default resolved, file names seen from `folder`."""
    lock = Lock(data=compiled.dataset.digest(), versions=versions())
    recipe = relocated(compiled.recipe, lambda file: Path(os.path.relpath(file, folder)).as_posix())
    head = "# Written by spnc: every option of the run, and what it was made from.\n"
    return head + write_yaml(replace(recipe, lock=lock), full=True)


def _fingerprint(compiled: Compiled) -> str:
    """What a checkpoint depends on: circuit, starting parameters, data and prior."""
    sha = hashlib.sha256(compiled.dataset.digest().encode())
    sha.update(repr(compiled.recipe.smoothing).encode())
    for segment in compiled.program.segments:
        sha.update(f"{segment.is_sum} {segment.first} {segment.last}".encode())
        sha.update(segment.starts.tobytes() + segment.children.tobytes())
    sha.update(compiled.parameters.weights.tobytes())
    for leaf, table in zip(compiled.program.leaves, compiled.parameters.tables, strict=True):
        sha.update(leaf.distribution.encode() + leaf.variables.tobytes() + table.tobytes())
    return sha.hexdigest()


def _state_bytes(state: State, fingerprint: str) -> bytes:
    from safetensors.numpy import save

    tensors = {"weights": state.parameters.weights, "best.weights": state.best.weights}
    for i, table in enumerate(state.parameters.tables):
        tensors[f"tables.{i}"] = np.ascontiguousarray(table)
    for i, table in enumerate(state.best.tables):
        tensors[f"best.tables.{i}"] = np.ascontiguousarray(table)
    about = {
        "fingerprint": fingerprint,
        "best_iteration": state.best_iteration,
        "history": [[getattr(r, f.name) for f in fields(Record)] for r in state.history],
    }
    return save(tensors, metadata={_FORMAT: json.dumps(about)})


def _state_from(about: dict[str, Any], tensors: dict[str, Any]) -> State:
    count = sum(name.startswith("tables.") for name in tensors)
    return State(
        Parameters(tensors["weights"], tuple(tensors[f"tables.{i}"] for i in range(count))),
        Parameters(
            tensors["best.weights"], tuple(tensors[f"best.tables.{i}"] for i in range(count))
        ),
        about["best_iteration"],
        tuple(Record(*row) for row in about["history"]),
    )


def _history_text(history: tuple[Record, ...]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f.name for f in fields(Record)]
    writer.writerow(names)
    writer.writerows([_cell(getattr(r, n)) for n in names] for r in history)
    return text.getvalue()


def _cell(value: object) -> str:
    return "" if value is None else repr(value)


def default_folder(recipe: Recipe) -> Path:
    """`runs/NAME`, or the first of `runs/NAME-2`, `-3`, … that is not there yet."""
    base = Path("runs") / recipe.model
    number = 1
    path = base
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path

"""Checkpoints of trainings."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from random import Random

import spnc
from spnc.common.observer import Observer
from spnc.runs.checkpoint import FORMAT
from tests.fuzz.harness import ROOT, Harness, Input
from tests.fuzz.rewriting import check_total
from tests.fuzz.tensor_files import mutated_tensors

_CHECKPOINT = "checkpoint.safetensors"
_SMALL = ["forest.0.count=1", "data.split_seed=1", "backend=numpy"]
_WAYS = {  # the settings of each training; their names are the endings of its checkpoints
    ".em": [*_SMALL, "optimizer.max_iterations=3"],
    ".sgd": [*_SMALL, "optimizer={method: sgd, max_iterations: 3, batch_rows: 1000}"],
}


class _Interrupts(Observer):
    """Interrupts a training after its second iteration."""

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        if number == 1:
            raise KeyboardInterrupt


class Checkpoints(Harness):
    """A training is resumed from a checkpoint; if it accepts it, the result is a valid model."""

    name = "checkpoint"
    endings = tuple(_WAYS)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spec = ROOT / "specs/tiny.yaml"
        for ending, settings in _WAYS.items():
            try:
                spnc.train(self.spec, settings, out=self._begun(ending), progress=_Interrupts())
            except spnc.Interrupted:
                continue
            raise AssertionError("the training was not interrupted")

    def _begun(self, ending: str) -> Path:
        """Return the folder of an interrupted training, which is copied for every input."""
        return self.folder / f"begun{ending}"

    def seeds(self) -> Iterable[Input]:
        """Return the checkpoint of each interrupted training."""
        return [Input(e, (self._begun(e) / _CHECKPOINT).read_bytes()) for e in self.endings]

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return a checkpoint with another description or other arrays."""
        return mutated_tensors(given.content, FORMAT, random)

    def read(self, path: Path) -> None:
        """Resume the training from the checkpoint."""
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self._begun(path.suffix), run)
        shutil.copyfile(path, run / _CHECKPOINT)
        trained = spnc.train(self.spec, _WAYS[path.suffix], out=run, resume=True)
        check_total(trained.model.program, trained.model.parameters)
        assert not spnc.check(run / "model.spnc")

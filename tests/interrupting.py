"""Trainings that are interrupted as Ctrl-C would, or killed at a write, at a chosen moment."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.common.observer import Observer


def skip_if_ignored(number: signal.Signals) -> None:
    """Skip a test of a signal that this process ignores, and so do those that it starts."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"{number.name} is ignored here, as `nohup` asks, and stays ignored")


class InterruptsAt(Observer):
    """Interrupts training after an iteration; with None, as it begins."""

    def __init__(self, iteration: int | None = 0) -> None:
        self._at = iteration

    def training(self, max_iterations: int | None) -> None:
        if self._at is None:
            raise KeyboardInterrupt

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        if number == self._at:
            raise KeyboardInterrupt


def interrupted(
    spec: str | Path, settings: Any = (), *, at: int | None = 0, out: Any = True, **more: Any
) -> str:
    """Train a spec into a folder, interrupt it, and return what the user is told."""
    with pytest.raises(spnc.Interrupted) as caught:
        spnc.train(spec, settings, out=out, progress=InterruptsAt(at), **more)
    return str(caught.value)


class Killed(BaseException):
    """As if the process were gone."""


def killing(at: int, *, before: bool) -> Callable[[Path, Path], Path]:
    """A `Path.replace`, by which every file gets to its place, that dies at its n-th call."""
    calls = [0]
    replace = pathlib.Path.replace

    def deadly(self: Path, target: Path) -> Path:
        calls[0] += 1
        if before and calls[0] == at:
            raise Killed
        done = replace(self, target)
        if calls[0] == at:
            raise Killed
        return done

    return deadly

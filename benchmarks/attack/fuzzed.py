"""Fuzzed inputs for every reader, two readers at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import READERS, has_atheris
from tests.fuzz.running import Fuzzed, fuzz

_AT_ONCE = 2

Say = Callable[[str], None]


def attack(seconds: float, seed: int, out: Path, say: Say) -> dict[str, Any]:
    """Fuzz every reader for some seconds. Return how inputs were made, and a record per reader."""

    def one(reader: str) -> Fuzzed:
        say(f"fuzz: {reader}")
        return fuzz(reader, seconds, seed, out, not has_atheris())

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [asdict(one) for one in pool.map(one, READERS)]
    return {"guided": has_atheris(), "seconds": seconds, "readers": found}

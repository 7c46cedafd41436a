"""What part of a training of `specs/best` is planning: laying rows out for the engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common.trainings import ROOT
from benchmarks.scaling.trained_apart import FailedError, trained_apart

FOLDER = ROOT / "specs" / "best"
QUICK = ("any",)  # which needs no data


def specs(*, quick: bool) -> list[Path]:
    """Return the specs whose data is there."""
    if quick or not os.environ.get("SPNC_DATA"):
        return [FOLDER / f"{name}.yaml" for name in QUICK]
    return sorted(FOLDER.glob("*.yaml"))


def measured(spec: Path, folder: Path) -> dict[str, Any]:
    """Train a spec once, and return what each stage took."""
    try:
        return {"spec": spec.stem, **trained_apart(spec, folder / spec.stem).to_json()}
    except FailedError as error:
        return {"spec": spec.stem, "failed": str(error)}


def shares(records: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Yield each spec that was trained, and the part of its seconds that was planning."""
    for one in records:
        if "failed" not in one:
            yield one["spec"], one["stages"]["plan"] / one["seconds"]

"""The same training in one process with one or two threads, and on clusters of local workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.trainings import ROOT
from benchmarks.scaling.generated import write_table
from benchmarks.scaling.trained_apart import bits, trained_apart

ITERATIONS = 20
SPEC = """model: processes
data: {{source: {source}, split: [0.98, 0.01, 0.01]}}
forest:
- {{learner: extra-spn, count: 4, min_instances: 30000}}
optimizer: {{max_iterations: {iterations}, stop: none, patience: none}}
"""
MSNBC = ROOT / "specs" / "paper" / "msnbc-rspf10.yaml"


@dataclass(frozen=True)
class Way:
    """How a training is computed."""

    name: str
    options: tuple[str, ...] = ()
    threads: int = 2


WAYS = (
    Way("one process, 1 thread", threads=1),
    Way("one process, 2 threads"),
    Way("1 worker", ("--cluster", "local:1")),
    Way("2 workers", ("--cluster", "local:2")),
    Way("4 workers", ("--cluster", "local:4")),
)


def generated_spec(folder: Path, rows: int, columns: int) -> Path:
    """Write a table of many distinct rows, and a spec that trains on it."""
    source = folder / f"distinct-{rows}x{columns}.parquet"
    if not source.exists():
        write_table(source, rows, columns)
    spec = folder / f"{source.stem}.yaml"
    spec.write_text(SPEC.format(source=source, iterations=ITERATIONS))
    return spec


def with_rows_encoded(spec: Path, folder: Path) -> dict[str, str]:
    """Let the rows of a spec be encoded; return the environment in which they are found again."""
    cache = {"SPNC_CACHE": str(folder / "cache")}
    trained_apart(
        spec,
        folder / f"{spec.stem}-first",
        "--set",
        "optimizer.max_iterations=0",
        environment=cache,
    )
    return cache


def measured(spec: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Train a spec in all ways, one after another, and yield what each took.

    The rows are encoded before, so that this is not counted for the first way alone.
    """
    cache = with_rows_encoded(spec, folder)
    for number, way in enumerate(WAYS):
        run = folder / f"{spec.stem}-{number}"
        threads = {"NUMBA_NUM_THREADS": str(way.threads), "OMP_NUM_THREADS": str(way.threads)}
        found = trained_apart(spec, run, *way.options, environment={**cache, **threads})
        yield {"way": way.name, "bits": bits(run), **found.to_json()}

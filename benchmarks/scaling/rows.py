"""Trainings in one process by the number of rows, within a limit of memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scaling.generated import write_table
from benchmarks.scaling.trained_apart import trained_apart

ITERATIONS = 10
SPEC = """model: rows
data: {{source: {source}, split: [0.98, 0.01, 0.01]}}
forest:
- {{learner: extra-spn, count: 4, min_instances: 30000}}
optimizer: {{max_iterations: {iterations}, stop: none, patience: none}}
limits: {{memory: {memory}}}
"""


@dataclass(frozen=True)
class Size:
    """A table, and the memory that its training may take."""

    rows: int
    columns: int
    memory: str


FULL = (
    Size(1_000_000, 17, "4GB"),
    Size(10_000_000, 17, "4GB"),
    Size(100_000_000, 17, "4GB"),
    Size(20_000_000, 50, "6GB"),
)
QUICK = (Size(1_000_000, 17, "4GB"), Size(2_000_000, 17, "4GB"))


def measured(size: Size, folder: Path) -> dict[str, Any]:
    """Train on a generated table of this size, from the file to the finished model."""
    source = folder / f"{size.rows}x{size.columns}.parquet"
    if not source.exists():
        write_table(source, size.rows, size.columns)
    spec = folder / f"{source.stem}.yaml"
    spec.write_text(SPEC.format(source=source, iterations=ITERATIONS, memory=size.memory))
    found = trained_apart(
        spec, folder / source.stem, environment={"SPNC_CACHE": str(folder / "cache")}
    )
    return {
        "rows": size.rows,
        "columns": size.columns,
        "memory": size.memory,
        "file_mb": round(source.stat().st_size / 1e6, 1),
        "iterations": ITERATIONS,
        **found.to_json(),
    }

"""What trainings on more rows and machines would take, by the formula of docs/scaling.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.scaling.overhead import Overhead, costs
from spnc.data.parted import PARTITION_ROWS

ROWS = (100_000_000, 1_000_000_000)
MACHINES = (1, 8, 64)
CORES = 8  # of each machine
ITERATIONS = 50
_WORKERS = 2  # that overheads were measured with


@dataclass(frozen=True)
class Rates:
    """What was measured, in seconds of one core if it is divided among cores."""

    read: float  # a row, from its file to its partition
    pass_: float  # a row in an iteration
    structure: float  # in all: it comes from a sample
    partition: float  # in an iteration, by the scheduler
    sum_: float  # of the counts of a partition in an iteration, by a worker


@dataclass(frozen=True)
class Training:
    """What a training would take."""

    rows: int
    machines: int
    read: float
    iteration: float
    of_scheduler: float  # seconds of an iteration that more machines do not change
    seconds: float


def rates(found: dict[str, Any]) -> Rates | None:
    """Return the rates of the widest table of the part `rows`, and those of `overhead`."""
    if not {"rows", "overhead"} <= found.keys():
        return None
    widest = max(found["rows"]["found"], key=lambda one: (one["columns"], one["rows"]))
    cores, stages = found["rows"]["cores"], widest["stages"]
    cost = costs([Overhead(*one) for one in found["overhead"]["found"]])
    # A weight and a probability for each edge or leaf at most, in eight bytes.
    megabytes = widest["edges"] * 8e-6
    return Rates(
        read=stages["data"] * cores / widest["rows"],
        pass_=stages["train"] * cores / (widest["rows"] * widest["iterations"]),
        structure=stages["structure"] + stages["compile"],
        partition=max(0.0, cost.partition),
        sum_=max(0.0, cost.megabyte) * megabytes * _WORKERS,
    )


def trainings(rate: Rates) -> Iterator[Training]:
    """Yield what trainings would take."""
    for rows in ROWS:
        for machines in MACHINES:
            cores, partitions = machines * CORES, -(-rows // PARTITION_ROWS)
            alone = machines == 1
            scheduler = 0.0 if alone else partitions * rate.partition
            sums = 0.0 if alone else partitions * rate.sum_ / cores
            iteration = rows * rate.pass_ / cores + sums + scheduler
            read = rows * rate.read / cores
            seconds = read + rate.structure + ITERATIONS * iteration
            yield Training(rows, machines, read, iteration, scheduler, seconds)

"""Outcomes of tries, and `tries.csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from spnc.program.score import Score
from spnc.runs.metrics import TryMetrics
from spnc.training.time_limit import Ended


@dataclass(frozen=True)
class Outcome:
    """A finished try. `number` counts from 1, in the order of the grid, its sample or `--auto`."""

    number: int
    values: Mapping[str, Any]  # what the try has chosen, by path
    valid: Score
    train: Score
    edges: int
    iterations: int
    seconds: float
    chosen: bool = False
    setup: float = 0.0  # seconds before the first iteration, without what is done once per machine
    structure: float = 0.0  # those of them for components and links
    pace: float = 0.0  # seconds per iteration; 0 if there was none
    kept: int = 0  # the iteration whose parameters were kept
    stopped: str = ""  # what ended training
    ended: Ended | None = None  # the fit that was ended early, if any
    # What whoever proposed the try wants to remember, as plain values.
    note: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lowering(self) -> float:
        """Seconds between the structure and the first iteration."""
        return max(0.0, self.setup - self.structure)

    def better_than(self, other: Outcome | None) -> bool:
        """Return whether this try is better on the validation rows; ties go to the earlier."""
        return other is None or (self.valid.rank, -self.number) > (other.valid.rank, -other.number)

    def metrics(self) -> TryMetrics:
        """Return the try as `metrics.json` and `tries.csv` show it."""
        return TryMetrics(
            self.number,
            dict(self.values),
            _average(self.valid),
            int(self.valid.impossible),
            _average(self.train),
            int(self.train.impossible),
            self.edges,
            self.iterations,
            round(self.seconds, 3),
            self.chosen,
        )

    def as_record(self) -> dict[str, Any]:
        """Return the try in full, to resume a search with."""
        return asdict(self)

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Outcome:
        """Return the try in a record. Raises KeyError, TypeError or ValueError if it is not one."""
        scores = {name: Score(**record[name]) for name in ("valid", "train")}
        for score in scores.values():
            if not all(isinstance(v, int | float) for v in asdict(score).values()):
                raise ValueError("its scores are not numbers")
        if not isinstance(record["number"], int):
            raise TypeError("its tries are not numbered")
        if not isinstance(record["note"], dict):
            raise TypeError("what its tries remember is not readable")
        seconds = [record[name] for name in ("seconds", "setup", "structure", "pace")]
        if not all(isinstance(value, int | float) for value in seconds):
            raise TypeError("its times are not numbers")
        ended = record.get("ended")
        if ended is not None:
            if not isinstance(ended[0], str) or not isinstance(ended[1], int):
                raise TypeError("how its tries ended is not readable")
            ended = Ended(ended[0], ended[1])
        return Outcome(**{**record, **scores, "ended": ended})


def _average(score: Score) -> float | None:
    return score.average if score.possible > 0 else None


def outcomes_text(outcomes: Iterable[Outcome]) -> str:
    """Return the content of `tries.csv`: a line per try, a column per choice."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head: list[str] | None = None
    for outcome in outcomes:
        row = outcome.metrics().to_json()
        row = {"try": row.pop("try"), **row.pop("values"), **row}
        if head is None:
            head = list(row)
            writer.writerow(head)
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value)

"""The page of `benchmarks.asking`: one table from the records of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.common.markdown import filled, table
from benchmarks.timing.speed_page import number
from spnc.cli.output import table as text_table

Run = dict[str, Any]  # what asking.json holds
HEAD = ("question", "system", "size", "s", "per second", "spnc is faster by")
GOALS_HEAD = ("goal", "wanted", "reached")

_ABOUT = """Questions to a model that is in memory, from a NumPy array to a NumPy array, on the same
circuits for every system. The systems take turns; medians of {repeats}, in brackets least and most.
Peers draw fewer rows, so rates are compared: rows times edges per second for log-likelihoods and
pairs, rows per second where rows are drawn. No peer computes mutual information; they are asked for
the probabilities that it takes, one query for each two columns. *Start* is the time from starting
Python to the first answer of a saved model.
"""


def page(run: Run) -> str:
    """Return the page of a run in Markdown."""
    notes = "".join(f"- {note}\n" for note in _notes(run))
    parts = [
        "# Asking\n\nWritten by `python -m benchmarks.asking`.\n",
        filled(_ABOUT.format(**run)),
        table(GOALS_HEAD, goals(run), 1),
        table(HEAD, cells(run), 2),
        *([notes] if notes else []),
        _conditions(run) + "\n",
    ]
    return "\n".join(parts)


def text(run: Run) -> str:
    """Return the tables of a run for a terminal."""
    parts = [text_table(GOALS_HEAD, goals(run), 1), text_table(HEAD, cells(run), 2)]
    return "\n\n".join([*parts, *_notes(run), _conditions(run)])


def rate(record: dict[str, Any]) -> float | None:
    """Return units per second; None if the question was not answered."""
    return record["units"] / median(record["seconds"]) if record["seconds"] else None


def cells(run: Run) -> list[list[str]]:
    """Return a row for each question and system."""
    rows = []
    for question in run["questions"]:
        own = rate(question["records"][0])
        for record in question["records"]:
            name = _system(record)
            found, seconds = rate(record), record["seconds"]
            if found is None:
                rows.append([question["title"], name, record["size"], "–", "–", "–"])
                continue
            shown = number(median(seconds))
            if len(seconds) > 1:
                shown += f" ({number(min(seconds))} to {number(max(seconds))})"
            if record is question["records"][0]:
                times = "1"
            else:
                times = f"{number(own / found)} ×" if own else "–"
            per_second = f"{number(found / question['scale'])} {question['unit']}"
            rows.append([question["title"], name, record["size"], shown, per_second, times])
    seconds = run["start"]
    shown = f"{number(median(seconds))} ({number(min(seconds))} to {number(max(seconds))})"
    rows.append(["start", f"spnc {run['version']}", "one row", shown, "–", "–"])
    return rows


def goals(run: Run) -> list[list[str]]:
    """Return a row for each goal: what is wanted, and spnc's median."""
    rows = []
    for question in run["questions"]:
        record = question["records"][0]
        if question["least_rate"] is not None:
            found = rate(record)
            wanted = f"at least {number(question['least_rate'] / 1e9)} G row-edges/s"
            reached = "–" if found is None else f"{number(found / 1e9)} G row-edges/s"
        else:
            wanted = f"under {number(question['most_seconds'])} s"
            spent = record["seconds"]
            reached = f"{number(median(spent))} s" if spent else "–"
        rows.append([f"{question['title']}: {record['size']}", wanted, reached])
    rows.append(["start", "under 1 s", f"{number(median(run['start']))} s"])
    return rows


def _notes(run: Run) -> list[str]:
    said = []
    for question in run["questions"]:
        for record in question["records"]:
            how = record.get("deviation")
            if how is not None and f"{_system(record)}: {how}." not in said:
                said.append(f"{_system(record)}: {how}.")
            name = f"{_system(record)}, {question['title']}"
            if "unable" in record:
                said.append(f"{name}: {record['unable']}.")
            if "differs" in record:
                said.append(f"{name}: {record['differs']}.")
    return said


def _system(record: dict[str, Any]) -> str:
    return f"{record['system']} {record['version']}"


def _conditions(run: Run) -> str:
    return (
        f"Measured in one run on {run['cores']} cores in {run['seconds'] / 60:.0f} minutes; "
        f"the load before it was {run['load']:.1f}."
    )

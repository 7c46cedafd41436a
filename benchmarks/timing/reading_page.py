"""The page of `benchmarks.reading`: tables from the records of a run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.common.markdown import filled, table
from benchmarks.timing.speed_page import number
from spnc.cli.output import table as text_table

Record = dict[str, Any]  # what one system did
Run = dict[str, Any]  # what reading.json holds

READING_HEAD = ("system", "s", "M cells/s", "cores", "peak MB", "spnc takes")
TRAINING_HEAD = ("rows", "columns", "file MB", "s", "peak MB", "edges", "test log-likelihood")
CIRCUITS_HEAD = ("text", "s to a valid circuit", "CPU s", "s to a model", "CPU s", "peak MB")
_CIRCUIT_TIMES = ("seconds", "cpu_seconds", "model_seconds", "model_cpu_seconds")

_READING = """A CSV file of {rows:,} rows by {columns} columns ({megabytes:,.0f} MB: ten columns
each of floats, whole numbers and words), read from the page cache to a table in memory: a `Dataset`
of spnc, with kinds, labels and scales of all columns, or what the library's `read_csv` returns by
default. Every reading is in a new process; importing the library does not count. The systems take
turns; medians of {repeats}, in brackets least and most. Cores: how many were busy. \\*: what was
read differs.
"""
_TRAINING = """`spnc train` on a CSV file of {rows:,} rows by {columns} binary columns: a Chow-Liu
tree and three iterations of EM on 80% of the rows, scored on all. Peak: memory of the whole
process, libraries included, from the file to the saved model.
"""
_CIRCUITS = """A circuit of {edges:,} edges and {nodes:,} nodes over {columns} binary columns, as a
`.spn` text of {megabytes:.1f} MB, read by spnc {version} from the page cache to a graph that is
proved to be a valid circuit, as `spnc check` does it, and then compiled to a model. `plain`: as
spnc writes circuits. `brackets`: with brackets around the last sum, so that the text is read by the
grammar. Every reading is in a new process; importing the library does not count. The texts take
turns; medians of {repeats}, in brackets least and most. CPU s: the processor's time, which other
programs on the machine lengthen less than the time from beginning to end.
"""


def page(run: Run) -> str:
    """Return the page of a run in Markdown."""
    reading, training, circuits = run["reading"], run["training"], run["circuits"]
    notes = "".join(f"- {note}\n" for note in _notes(run)).replace("*", "\\*")
    return "\n".join(
        [
            "# Reading\n\nWritten by `python -m benchmarks.reading`.\n",
            f"{_conditions(run)}\n",
            f"## Time\n\n{filled(_READING.format(**reading))}",
            table(READING_HEAD, reading_cells(reading["records"]), 1),
            f"## Memory\n\n{filled(_TRAINING.format(**training))}",
            table(TRAINING_HEAD, [training_cells(training)], 0),
            f"## Circuits\n\n{filled(_CIRCUITS.format(**circuits))}",
            table(CIRCUITS_HEAD, circuit_cells(circuits), 1),
            f"{_conditions(circuits)}\n",
            *([notes] if notes else []),
        ]
    )


def text(run: Run) -> str:
    """Return the tables of a run for a terminal."""
    parts = [
        text_table(READING_HEAD, reading_cells(run["reading"]["records"]), 1),
        text_table(TRAINING_HEAD, [training_cells(run["training"])], 0),
        text_table(CIRCUITS_HEAD, circuit_cells(run["circuits"]), 1),
        *_notes(run),
        _conditions(run),
    ]
    return "\n\n".join(parts)


def circuit_cells(circuits: Record) -> list[list[str]]:
    """Return a row for each way in which the circuit is written."""
    rows = []
    for record in circuits["records"]:
        if "unable" in record:
            rows.append([record["written"], *["–"] * (len(CIRCUITS_HEAD) - 1)])
            continue
        times = [_spread(record[key]) for key in _CIRCUIT_TIMES]
        rows.append([record["written"], *times, f"{max(record['peak_mb']):,.0f}"])
    return rows


def _spread(values: Sequence[float], mark: str = "") -> str:
    """Return the median and, of several values, the least and the largest one."""
    shown = number(median(values)) + mark
    if len(values) > 1:
        shown += f" ({number(min(values))} to {number(max(values))})"
    return shown


def reading_cells(records: Sequence[Record]) -> list[list[str]]:
    """Return a row for each system: its time, rate, cores and memory, and spnc's time beside it."""
    own = records[0]["seconds"]
    rows = []
    for record in records:
        seconds, name = record["seconds"], f"{record['system']} {record['version']}"
        if not seconds:
            rows.append([name, *["–"] * (len(READING_HEAD) - 1)])
            continue
        middle = median(seconds)
        shown = _spread(seconds, "*" if "differs" in record else "")
        cells = record["read"]["rows"] * record["read"]["columns"]
        times = "1" if record is records[0] else f"{number(median(own) / middle)} ×" if own else "–"
        rate, cores = number(cells / middle / 1e6), f"{median(record['cores']):.1f}"
        rows.append([name, shown, rate, cores, f"{max(record['peak_mb']):,.0f}", times])
    return rows


def training_cells(record: Record) -> list[str]:
    """Return the row of the training."""
    size = [f"{record['rows']:,}", f"{record['columns']}", f"{record['megabytes']:,.0f}"]
    if "unable" in record:
        return [*size, *["–"] * (len(TRAINING_HEAD) - len(size))]
    peak, score = f"{record['peak_mb']:,.0f}", f"{record['log_likelihood']:.3f}"
    return [*size, number(record["seconds"]), peak, f"{record['edges']:,}", score]


def _notes(run: Run) -> list[str]:
    """Return what systems could not do, and how they differ."""
    said = []
    for record in run["reading"]["records"]:
        name = f"{record['system']} {record['version']}"
        if "unable" in record:
            later = " (in a later repeat)" if record["seconds"] else ""
            said.append(f"–: {name} did not read the file{later}: {record['unable']}.")
        if "differs" in record:
            said.append(f"*: {name} read something else: {record['differs']}.")
    if "unable" in run["training"]:
        said.append(f"–: no training: {run['training']['unable']}.")
    for record in run["circuits"]["records"]:
        if "unable" in record:
            said.append(f"–: the text `{record['written']}` was not read: {record['unable']}.")
    return said


def _conditions(run: Run) -> str:
    return (
        f"Measured in one run on {run['cores']} cores in {run['seconds'] / 60:.0f} minutes; "
        f"the load before it was {run['load']:.1f}."
    )

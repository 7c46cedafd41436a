"""The page about growth: `scale.md` from `scale.json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.common.markdown import filled, table
from benchmarks.scaling import columns, edges, overhead
from benchmarks.scaling.extrapolation import rates, trainings
from benchmarks.timing.curves import fitted_exponent

Found = dict[str, Any]

_HEAD = """# Scale

How training grows with rows, columns, edges and processes. Written by `python -m benchmarks.scale`;
every training is a process of its own, from the file to the finished model, and is measured once.

"""
_ROWS = """## Rows, in one process within a limit of memory

Tables drawn from a mixture of 30 groups of independent binary columns, in Parquet files. Four
ExtraSPNs, whose structure comes from a sample, and ten iterations of EM on all rows. Peak: the
largest resident size of the process.

"""
_PROCESSES = """## Processes

The same training in one process, and with worker processes of a Dask cluster on this machine, one
thread each. The rows are encoded before. Against: the seconds of the whole, divided by those of one
process with two threads. A table of one partition is computed by the process that trains, also with
a cluster.

"""
_KILLS = """## Killed workers

Two workers, of which a random one is killed (SIGKILL) at random moments, and started again.

"""
_OVERHEAD = """## What a partition costs on a cluster

Iterations of EM over partitions of 16 rows, on two workers: what is left is overhead. Counts: the
size of what each partition sends back.

"""
_EXTRAPOLATION = """## More rows and machines

By the [formula](../../docs/scaling.md) and the figures above; not measured.

"""
_COLUMNS = """## Columns

Tables of binary columns in CSV files, 8,000 rows for training.

"""
_EDGES = """## Edges

From a learner (hidden Chow-Liu trees over 100 columns) to the first iterations of EM.

"""
_PLANNING = """## Planning

What part of a training in `specs/best` is spent on laying rows out for the engine.

"""


def page(found: Found) -> str:
    """Return the page."""
    shown: dict[str, tuple[str, Callable[[Any], str]]] = {
        "rows": (_ROWS, _rows),
        "processes": (_PROCESSES, _processes),
        "kills": (_KILLS, _kills),
        "overhead": (_OVERHEAD, _overhead),
        "columns": (_COLUMNS, _columns),
        "edges": (_EDGES, _edges),
        "planning": (_PLANNING, _planning),
    }
    parts = [filled(_HEAD)]
    for name, (head, text_of) in shown.items():
        if name in found:
            own = found[name]
            parts += [filled(head), text_of(own["found"]), f"{_when(own)}\n\n"]
    if text := extrapolation(found):
        parts += [filled(_EXTRAPOLATION), text]
    return "".join(parts).rstrip() + "\n"


def extrapolation(found: Found) -> str:
    """Return the table of trainings that were not measured; empty without what it needs."""
    rate = rates(found)
    if rate is None:
        return ""
    head = ["rows", "machines", "reading s", "iteration s", "of it scheduler s", "all"]
    lines = [
        [
            f"{one.rows:,}",
            str(one.machines),
            f"{one.read:,.0f}",
            f"{one.iteration:,.1f}",
            f"{one.of_scheduler:,.1f}",
            _clock(one.seconds),
        ]
        for one in trainings(rate)
    ]
    return table(head, lines, 0)


def _clock(seconds: float) -> str:
    """Return minutes, or hours from two on."""
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _when(part: Found) -> str:
    """Return when and on what a part was measured."""
    size = " with small sizes" if part["quick"] else ""
    load = "" if part["load"] is None else f"; the load before it was {part['load']}"
    minutes = max(1, round(part["seconds"] / 60))
    return f"*{part['date']}, {part['cores']} cores, {minutes} minutes{size}{load}.*"


def other_bits(found: Found) -> list[str]:
    """Return the trainings that came to other bits in one way than in another."""
    ways = found["processes"]["found"] if "processes" in found else {}
    kills = found["kills"]["found"] if "kills" in found else {}
    bits = [(name, {way["bits"] for way in own}) for name, own in ways.items()]
    bits += [(name, {own["calm"]["bits"], own["hurt"]["bits"]}) for name, own in kills.items()]
    return [name for name, own in bits if len(own) > 1]


def _rows(records: list[Found]) -> str:
    head = ["rows", "columns", "file MB", "limit", "peak MB", "read s", "structure s"]
    head += ["plan s", "EM s", "all s", "rows/s in EM"]
    lines = []
    for one in records:
        stages = one["stages"]
        speed = one["rows"] * one["iterations"] / max(stages["train"], 1e-3)
        seconds = [stages[name] for name in ("data", "structure", "plan", "train")]
        lines.append(
            [
                f"{one['rows']:,}",
                str(one["columns"]),
                f"{one['file_mb']:,.0f}",
                one["memory"],
                f"{one['peak_mb']:,.0f}",
                *(f"{value:,.1f}" for value in (*seconds, one["seconds"])),
                f"{speed:,.0f}",
            ]
        )
    text = table(head, lines, 0)
    same = [one for one in records if one["columns"] == records[0]["columns"]]
    if len(same) > 1:
        sizes = [one["rows"] for one in same]
        slope = fitted_exponent(sizes, [one["seconds"] for one in same])
        text += f"\nWith {same[0]['columns']} columns, seconds grow as rows^{slope:.2f}.\n"
    return text + "\n"


def _processes(found: dict[str, list[Found]]) -> str:
    return "".join(_ways(name, ways) for name, ways in found.items())


def _ways(name: str, ways: list[Found]) -> str:
    head = ["way", "structure s", "EM iteration s", "all s", "against", "bits"]
    base = next(way["seconds"] for way in ways if way["way"] == "one process, 2 threads")
    lines = []
    for way in ways:
        stages = way["stages"]
        iteration = stages["train"] / max(1, way["iterations"])
        lines.append(
            [
                way["way"],
                f"{stages['structure']:,.2f}",
                f"{iteration:,.3f}",
                f"{way['seconds']:,.1f}",
                f"{way['seconds'] / base:.2f}",
                f"`{way['bits']}`",
            ]
        )
    return f"### {name}\n\n{table(head, lines, 1)}\n"


def _kills(found: dict[str, Found]) -> str:
    head = ["training", "kills", "undisturbed s", "with kills s", "bits"]
    lines = []
    for name, own in found.items():
        seconds = [f"{own[how]['seconds']:,.1f}" for how in ("calm", "hurt")]
        same = own["calm"]["bits"] == own["hurt"]["bits"]
        lines.append([name, str(len(own["kills"])), *seconds, "the same" if same else "OTHERS"])
    return f"{table(head, lines, 1)}\n"


def _overhead(found: list[list[Any]]) -> str:
    each = [overhead.Overhead(*one) for one in found]
    head = ["edges", "counts MB", "partitions", "iteration s", "a partition ms"]
    lines = [
        [
            f"{one.edges:,}",
            f"{one.megabytes:,.2f}",
            str(one.parts),
            f"{one.seconds:,.2f}",
            f"{one.seconds / one.parts * 1e3:,.1f}",
        ]
        for one in each
    ]
    cost = overhead.costs(each)
    fitted = f"Fitted: {cost.partition * 1e3:.1f} ms for a partition, and "
    return (
        f"{table(head, lines, 0)}\n{fitted}{cost.megabyte * 1e3:.1f} ms for each MB of counts.\n\n"
    )


def _columns(found: list[Found]) -> str:
    return f"```text\n{columns.text(found)}\n```\n\n"


def _edges(found: list[Found]) -> str:
    made = [edges.Measured.from_json(one) for one in found]
    return f"```text\n{edges.page(made)}\n```\n\n"


def _planning(found: list[Found]) -> str:
    head = ["spec", "seconds", "planning s", "share"]
    lines = []
    for one in found:
        if "failed" in one:
            lines.append([one["spec"], one["failed"], "–", "–"])
            continue
        seconds, plan = one["seconds"], one["stages"]["plan"]
        lines.append([one["spec"], f"{seconds:,.1f}", f"{plan:,.1f}", f"{plan / seconds:.1%}"])
    return f"{table(head, lines, 1)}\n"

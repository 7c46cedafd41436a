"""The page about growth: `scale.md` from `scale.json`."""

from __future__ import annotations

from typing import Any

from benchmarks.common.markdown import filled, table
from benchmarks.scaling import columns, edges
from benchmarks.timing.curves import fitted_exponent

Found = dict[str, Any]

_HEAD = """# Scale

How training grows with rows, columns, edges and processes. Written by `python -m benchmarks.scale`;
every training is a process of its own, from the file to the finished model.

"""
_ROWS = """## Rows, in one process within a limit of memory

Tables drawn from a mixture of {groups} groups of independent binary columns, in Parquet files. Four
ExtraSPNs, whose structure comes from a sample, and ten iterations of EM on all rows. Peak: the
largest resident size of the process.

"""
_PROCESSES = """## Processes

The same training in one process, and with worker processes of a Dask cluster on this machine, one
thread each. The rows are encoded before. Against: the seconds of the whole, divided by those of one
process with two threads.

"""


def page(found: Found) -> str:
    """Return the page."""
    how = "a short run" if found["quick"] else "one run"
    minutes = f"{found['seconds'] / 60:,.0f} minutes"
    parts = [
        filled(_HEAD),
        f"Measured in {how} on {found['cores']} cores in {minutes}; "
        f"the load before it was {found['load']}.\n\n",
    ]
    if "rows" in found:
        parts += [filled(_ROWS.format(groups=30)), _rows(found["rows"])]
    if "processes" in found:
        parts.append(filled(_PROCESSES))
        parts += [_processes(name, own) for name, own in found["processes"].items()]
    if "columns" in found:
        parts.append(f"## Columns\n\n```text\n{columns.text(found['columns'])}\n```\n\n")
    if "edges" in found:
        made = [edges.Measured.from_json(one) for one in found["edges"]]
        parts.append(f"## Edges\n\n```text\n{edges.page(made)}\n```\n\n")
    return "".join(parts).rstrip() + "\n"


def other_bits(found: Found) -> list[str]:
    """Return the trainings that came to other bits in one way than in another."""
    own = found.get("processes", {})
    return [name for name, ways in own.items() if len({way["bits"] for way in ways}) > 1]


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


def _processes(name: str, ways: list[Found]) -> str:
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

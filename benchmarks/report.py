"""The benchmark's results as records, as a table and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.comparison import WORKS, Result
from benchmarks.limit import Limit
from spnc.cli.output import table

HEAD = (
    "data",
    "circuit",
    "system",
    "edges",
    "rows",
    "log-lik M/s",
    "EM M/s",
    "spnc log-lik",
    "spnc EM",
    "peak MB",
    "of limit",
)
LEFT = 3  # columns of words, before the numbers
MEANING = (
    "M/s: million row-edges per second, all rows times all edges by the time of one pass or one EM "
    "iteration (median of the repeats). spnc log-lik, spnc EM: how many times faster spnc is, with "
    "the least and the most of all repeats. Peak: in EM, or in a log-likelihood pass where there "
    "is no EM. Of limit: share of the machine's limit in a log-likelihood pass, and in EM."
)
Comparison = Sequence[Result]  # one circuit, all systems, spnc first


def records(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """One object per system, circuit and kind of work that was measured."""
    found = []
    for result in (result for results in comparisons for result in results):
        for work in WORKS:
            rate = result.row_edges_per_second(work)
            if rate is None:
                continue
            record = {
                "system": result.contender.name,
                "version": result.about.get("version", result.contender.version),
                "data": result.task.data,
                "circuit": result.task.circuit,
                "work": work,
                "row_edges_per_second": rate,
                "peak_mb": result.peak_mb[work],
                "rows": len(result.task.rows),
                "edges": result.task.flat.edges,
                "seconds": float(np.median(result.seconds[work])),
                "repeats": result.seconds[work],
                "cores": float(np.median(result.cores[work])),  # that were busy with it
                # Of the rows that agreement was checked on: before, and after one EM iteration.
                "checked_mean": result.means.get(work),
                "agrees": work not in result.differs,
            }
            kept = ("backend", "distinct", "prepared", "first_use")
            found.append(record | {key: result.about[key] for key in kept if key in result.about})
    return found


def cells(comparisons: Sequence[Comparison], limit: Limit) -> list[list[str]]:
    """The rows of the table, as text."""
    found = []
    for results in comparisons:
        for result in results:
            task = result.task
            named = [task.data, task.circuit, title(result)]
            sizes = [f"{task.flat.edges:,}", f"{len(task.rows):,}"]
            rates = [_rate(result, work) for work in WORKS]
            times = [_times(results[0], result, work) for work in WORKS]
            ends = [_peak(result), _share(result, limit)]
            found.append([*named, *sizes, *rates, *times, *ends])
    return found


def title(result: Result) -> str:
    """What a system is called in the table."""
    backend = result.about.get("backend")
    version = result.about.get("version", result.contender.version)
    return f"spnc {version} ({backend})" if backend else f"{result.contender.name} {version}"


def notes(comparisons: Sequence[Comparison], limit: Limit) -> list[str]:
    """What is to be read under the table."""
    said = [MEANING, limit.definition()]
    for results in comparisons:
        for result in results:
            where = f"{title(result)}, {result.task.data} {result.task.circuit}"
            by_reason: dict[str, list[str]] = {}
            for work, reason in result.unable.items():
                if result.seconds[work]:
                    reason = f"{reason} (in a later repeat)"
                by_reason.setdefault(reason, []).append(
                    {"loglik": "log-likelihood", "em": "EM"}[work]
                )
            said += [f"– {where}: no {' and no '.join(w)}: {r}." for r, w in by_reason.items()]
            said += [f"* {where}: {text}." for text in result.differs.values()]
        first = results[0]
        if "prepared" in first.about:
            said.append(
                f"{title(first)}, {first.task.data} {first.task.circuit}: rows prepared in "
                f"{first.about['prepared']:.2f} s, once per training "
                f"({first.about['distinct']:,} distinct of {len(first.task.rows):,}){_once(first)}."
            )
    return said


def text(comparisons: Sequence[Comparison], limit: Limit) -> str:
    """The table for a terminal."""
    rows = cells(comparisons, limit)
    return "\n".join([table(HEAD, rows, LEFT), "", *notes(comparisons, limit)])


def markdown(comparisons: Sequence[Comparison], limit: Limit) -> str:
    """The table for a README."""
    lines = ["| " + " | ".join(HEAD) + " |"]
    rule = ["---"] * LEFT + ["---:"] * (len(HEAD) - LEFT)
    lines.append("| " + " | ".join(rule) + " |")
    lines += ["| " + " | ".join(row) + " |" for row in cells(comparisons, limit)]
    return "\n".join([*lines, "", "\n\n".join(notes(comparisons, limit)), ""])


def number(value: float) -> str:
    """A number with three figures, or all it has before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _once(result: Result) -> str:
    """The rate for whoever wants one log-likelihood pass only."""
    if not result.seconds["loglik"]:
        return ""
    seconds = result.about["prepared"] + float(np.median(result.seconds["loglik"]))
    rate = len(result.task.rows) * result.task.flat.edges / seconds
    return f"; with that, a single log-likelihood pass runs at {number(rate / 1e6)} M/s"


def _rate(result: Result, work: str) -> str:
    rate = result.row_edges_per_second(work)
    if rate is None:
        return "–"
    return number(rate / 1e6) + ("*" if work in result.differs else "")


def _times(first: Result, result: Result, work: str) -> str:
    ratios = first.ratios(result, work)
    if result is first or not ratios:
        return "–" if not ratios else "1"
    low, middle, high = np.quantile(ratios, [0.0, 0.5, 1.0])
    if len(ratios) == 1:
        return f"{number(middle)} ×"
    return f"{number(middle)} × ({number(low)} to {number(high)})"


def _peak(result: Result) -> str:
    return f"{max(result.peak_mb.values()):,.0f}" if result.peak_mb else "–"


def _share(result: Result, limit: Limit) -> str:
    rates = {work: result.row_edges_per_second(work) for work in WORKS}
    shares = [
        "–" if rate is None else f"{number(100 * limit.share(rate, work))}%"
        for work, rate in rates.items()
    ]
    return ", ".join(shares)

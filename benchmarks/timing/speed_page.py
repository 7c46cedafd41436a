"""The page of `benchmarks.speed`: tables and a summary from the records of a run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from benchmarks.common.markdown import filled, table
from benchmarks.timing.comparison import WORK_NAMES, WORKS
from spnc.cli.output import table as text_table

Record = dict[str, Any]  # `Result.record` of one system on one circuit
Run = dict[str, Any]  # what speed.json holds

CIRCUIT_HEAD = ("data", "circuit")
SUMMARY_HEAD = (*CIRCUIT_HEAD, "edges", "rows", "one call", "training pass", "EM iteration")
CALL_HEAD = (*CIRCUIT_HEAD, "system", "ms", "M/s", "spnc is faster by")
TRAINING_HEAD = (
    *CIRCUIT_HEAD,
    "system",
    "pass M/s",
    "EM M/s",
    "spnc's pass is faster by",
    "spnc's EM is faster by",
    "peak MB",
)
# How the README's sentence on the mixed table names the kinds of work.
_PHRASES = {"call": "a call", "pass": "a pass", "em": "an EM iteration"}
WORDS = 3  # columns of words, before the numbers; in the summary it is two

_SUMMARY = """How many times faster spnc is than the fastest of {peers}, on the same circuit and the
same rows (median of {repeats}). *One call* is what a user gets: `model.log_likelihood(X)`, from a
NumPy array to the log-likelihoods, beside each peer's own call on the same array. *Training pass*
and *EM iteration* run over rows that spnc prepares once per training, so they leave out work that
every single call has to do.
"""
_CALL = """M/s: million row-edges per second, which is all rows times all edges divided by the
median time of a call. In brackets: least and most of the repeats.
"""
_TRAINING = """A pass computes the log-likelihoods of rows that were prepared before: spnc finds
equal rows and equal parts of rows once per training. Peers prepare nothing: their pass is their
call. Rates count all rows and all edges, whether or not a system avoids some of that work. Peak:
memory of the process in EM, or in a call where there is no EM. \\*: the result differs from spnc's.
"""
_NOTES = "What systems could not do or do otherwise, and what preparing the rows cost"


def page(run: Run) -> str:
    """Return the page of a run in Markdown."""
    return f"# Speed\n\nWritten by `python -m benchmarks.speed`.\n\n{body(run)}"


def body(run: Run) -> str:
    """Return the tables of a run and its notes, without a title."""
    records = run["records"]
    parts = []
    if any(r["is_peer"] for r in records):
        intro = filled(_SUMMARY.format(peers=_peers(records), repeats=_repeats(run)))
        parts.append(f"{intro}\n{table(SUMMARY_HEAD, summary(records), 2)}")
    parts.append(f"{_conditions(run)}\n")
    parts.append(f"### One call\n\n{filled(_CALL)}\n{table(CALL_HEAD, call_cells(records), WORDS)}")
    training = table(TRAINING_HEAD, training_cells(records), WORDS)
    parts.append(f"### Training\n\n{filled(_TRAINING)}\n{training}")
    noted = "\n".join(f"- {note}".replace("*", "\\*") for note in notes(records))
    parts.append(
        _details(
            "What systems could not do or did otherwise, and what preparing the rows cost", noted
        )
    )
    if run["growth"]:
        curves = "\n\n".join(run["growth"])
        parts.append(_details("How the cost grows", f"```text\n{curves}\n```"))
    return "\n".join(parts)


def text(run: Run) -> str:
    """Return the tables of a run for a terminal."""
    records = run["records"]
    tables = [
        text_table(CALL_HEAD, call_cells(records), WORDS),
        text_table(TRAINING_HEAD, training_cells(records), WORDS),
        "\n".join(notes(records)),
        *run["growth"],
        _conditions(run),
    ]
    if any(r["is_peer"] for r in records):
        tables.insert(0, text_table(SUMMARY_HEAD, summary(records), 2))
    return "\n\n".join(tables)


def readme_lines(run: Run) -> str:
    """Return the summary of a run for the README, in one paragraph."""
    records = [r for r in run["records"] if not is_mixed(r)]
    times = {work: _range_of_best(records, work) for work in WORKS}
    return (
        f"`model.log_likelihood(X)`, from a NumPy array to the log-likelihoods, is {times['call']} "
        f"times faster\nthan the fastest of {_peers(records)}.\nIn training, where "
        f"rows are prepared once, a log-likelihood pass is {times['pass']} times and an EM\n"
        f"iteration {times['em']} times faster ({_circuits(records)}, {run['cores']} cores).\n"
        f"{_mixed_lines(run)}"
    )


def is_mixed(record: Record) -> bool:
    """Whether the record is of a circuit over real and categorical columns."""
    return "gaussian" in record.get("leaves", ())


def _mixed_lines(run: Run) -> str:
    """Return the README's sentence on the mixed table; nothing where no peer was measured."""
    records = [r for r in run["records"] if is_mixed(r)]
    best = {work: _best_ratios(records, work) for work in WORKS}
    said = [f"{number(min(found))} × in {_PHRASES[work]}" for work, found in best.items() if found]
    if not said:
        return ""
    listed = " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
    rows = f"{records[0]['rows']:,} distinct rows"
    sentence = f"On real and categorical columns with {rows}, spnc is faster by {listed}."
    return filled(sentence) + "\n"


def summary(records: Sequence[Record]) -> list[list[str]]:
    """Return a row for each circuit: how many times faster spnc is than the fastest peer."""
    rows = []
    for found in _by_circuit(records):
        first = found[0]
        best = [_best_peer_ratio(found, work) for work in WORKS]
        shown = ["–" if ratio is None else f"{number(ratio)} ×" for ratio in best]
        sizes = [f"{first['edges']:,}", f"{first['rows']:,}"]
        rows.append([first["data"], first["circuit"], *sizes, *shown])
    return rows


def call_cells(records: Sequence[Record]) -> list[list[str]]:
    """Return the rows of the table of single calls."""
    rows = []
    for found in _by_circuit(records):
        for record in found:
            seconds = record["seconds"]["call"]
            ms = number(1000 * float(np.median(seconds))) if seconds else "–"
            named = [record["data"], record["circuit"], title(record)]
            rows.append([*named, ms, _rate(record, "call"), _times(found[0], record, "call")])
    return rows


def training_cells(records: Sequence[Record]) -> list[list[str]]:
    """Return the rows of the table of training passes and EM iterations."""
    rows = []
    for found in _by_circuit(records):
        for record in found:
            rates = [_rate(record, work) for work in ("pass", "em")]
            times = [_times(found[0], record, work) for work in ("pass", "em")]
            named = [record["data"], record["circuit"], title(record)]
            rows.append([*named, *rates, *times, _peak(record)])
    return rows


def title(record: Record) -> str:
    """Return the name of a system in the tables."""
    backend = record.get("backend")
    name, version = record["system"], record["version"]
    return f"spnc {version} ({backend})" if backend else f"{name} {version}"


def notes(records: Sequence[Record]) -> list[str]:
    """Return what systems could not do, how they differ, and what preparation costs."""
    said = []
    for record in records:
        where = f"{title(record)}, {record['data']} {record['circuit']}"
        by_reason: dict[str, list[str]] = {}
        for work, reason in record["unable"].items():
            if record["seconds"][work]:
                reason = f"{reason} (in a later repeat)"
            by_reason.setdefault(reason, []).append(WORK_NAMES[work])
        said += [f"–: {where}: no {' and no '.join(w)}: {r}." for r, w in by_reason.items()]
        said += [f"*: {where}: {different}." for different in record["differs"].values()]
        if "deviation" in record:
            said.append(f"{where}: {record['deviation']}.")
        if record["system"] == "spnc" and "prepared" in record:
            said.append(
                f"{where}: rows prepared in {record['prepared']:.2f} s, once per training "
                f"({record['distinct']:,} distinct of {record['rows']:,})."
            )
    return said


def rate(record: Record, work: str) -> float | None:
    """Return all rows times all edges per second of the median time; None if not measured."""
    seconds = record["seconds"][work]
    if not seconds:
        return None
    return float(record["rows"] * record["edges"] / np.median(seconds))


def number(value: float) -> str:
    """Return a number with three figures, or all figures before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _by_circuit(records: Sequence[Record]) -> list[list[Record]]:
    """Return the records of each circuit, spnc on its chosen backend first."""
    by_circuit = groupby(records, key=lambda record: (record["data"], record["circuit"]))
    return [list(found) for _, found in by_circuit]


def _ratios(first: Record, record: Record, work: str) -> list[float]:
    """Return how many times longer the second system took, repeat by repeat."""
    pairs = zip(first["seconds"][work], record["seconds"][work], strict=False)
    return [theirs / ours for ours, theirs in pairs]


def _best_peer_ratio(found: Sequence[Record], work: str) -> float | None:
    """Return how many times longer the fastest peer took, even if its result differs."""
    peers = [r for r in found if r["is_peer"]]
    ratios = [_ratios(found[0], peer, work) for peer in peers]
    return min((float(np.median(each)) for each in ratios if each), default=None)


def _best_ratios(records: Sequence[Record], work: str) -> list[float]:
    """Return how many times longer the fastest peer took, for every circuit that it did."""
    best = [_best_peer_ratio(found, work) for found in _by_circuit(records)]
    return [ratio for ratio in best if ratio is not None]


def _range_of_best(records: Sequence[Record], work: str) -> str:
    known = _best_ratios(records, work)
    return f"{number(min(known))} to {number(max(known))}"


def _rate(record: Record, work: str) -> str:
    found = rate(record, work)
    if found is None:
        return "–"
    return number(found / 1e6) + ("*" if work in record["differs"] else "")


def _times(first: Record, record: Record, work: str) -> str:
    ratios = _ratios(first, record, work)
    if record is first or not ratios:
        return "1" if ratios else "–"
    low, middle, high = np.quantile(ratios, [0.0, 0.5, 1.0])
    if len(ratios) == 1:
        return f"{number(middle)} ×"
    return f"{number(middle)} × ({number(low)} to {number(high)})"


def _peak(record: Record) -> str:
    return f"{max(record['peak_mb'].values()):,.0f}" if record["peak_mb"] else "–"


def _peers(records: Sequence[Record]) -> str:
    names = list(dict.fromkeys(title(r) for r in records if r["is_peer"]))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _circuits(records: Sequence[Record]) -> str:
    datasets = {r["data"] for r in records}
    circuits = {(r["data"], r["circuit"]) for r in records}
    return f"{len(circuits)} circuits on {len(datasets)} datasets"


def _repeats(run: Run) -> str:
    return "one measurement" if run["repeats"] == 1 else f"{run['repeats']} repeats"


def _conditions(run: Run) -> str:
    return (
        f"Measured in one interleaved run on {run['cores']} cores in {run['seconds'] / 60:.0f} "
        f"minutes; the load before it was {run['load']:.1f}."
    )


def _details(summary_line: str, content: str) -> str:
    return f"<details><summary>{summary_line}</summary>\n\n{content}\n\n</details>\n"

"""The first section: how good the model is, how large, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from spnc.diagnostics import counted
from spnc.reports.facts.gather import Facts
from spnc.reports.page.html import brief, duration, exp, joined, number
from spnc.reports.page.parts import Section, table, tiles

_NAMES = {"train": "training", "valid": "validation", "test": "test"}


def words(split: str) -> str:
    """Return the name of a split as a sentence uses it."""
    return _NAMES.get(split, split)


def section(facts: Facts) -> Section:
    """Return the scores of all splits beside a baseline of independent columns, sizes and times."""
    metrics = facts.run.metrics
    splits = metrics.splits
    columns = len(facts.run.model.columns)
    per_cell = _has_probabilities(facts)
    independent = facts.columns.independent if facts.columns is not None else {}
    judged = [name for name in ("test", "valid", "train") if name in splits]
    rows = []
    for name, split in splits.items():
        average = split.avg_ll
        base = independent.get(name)
        rows.append(
            (
                words(name),
                f"{split.rows:,}",
                number(average, 4),
                number(base, 4) if base is not None else "–",
                *(
                    [number(None if average is None else -average / math.log(2) / columns, 3)]
                    * per_cell
                ),
                f"{split.impossible_rows:,}",
            )
        )
    head = [
        "split",
        "rows",
        "average log-likelihood",
        "with independent columns",
        *(["bits per column"] * per_cell),
        "impossible rows",
    ]
    body = joined(
        tiles(_tiles(facts, judged, independent)),
        table(head, rows, caption="Scores by split, in nats per row"),
    )
    return Section("summary", "How good is it?", _finding(facts, judged, independent), body)


def _has_probabilities(facts: Facts) -> bool:
    """Return whether every cell has a probability; that of a real number depends on its unit."""
    return all(column.kind not in ("real", "date") for column in facts.run.model.columns)


def _finding(facts: Facts, judged: Sequence[str], independent: Any) -> str:
    splits = facts.run.metrics.splits
    average = splits[judged[0]].avg_ll if judged else None
    if average is None:
        which = f"{words(judged[0])} row" if judged else "row"
        return f"The model gives every {which} probability zero."
    name = judged[0]
    said = (
        f"{words(name).capitalize()} rows have an average log-likelihood of {number(average)} nats"
    )
    if name in independent:
        gain = average - independent[name]
        if abs(gain) < 0.005:
            said += ", the same as with independent columns"
        else:
            than = "better" if gain > 0 else "worse"
            said += f", {number(abs(gain))} {than} than with independent columns"
    train = splits["train"].avg_ll if "train" in splits else None
    if name != "train" and train is not None:
        gap = train - average
        if gap > 0:
            said += f"; training rows are {number(gap)} nats better"
        else:
            said += "; training rows are no better"
    impossible = sum(split.impossible_rows for split in splits.values())
    if impossible:
        said += f". {impossible:,} rows have probability zero and are left out of the averages"
    return said + "."


def _tiles(facts: Facts, judged: Sequence[str], independent: Any) -> list[tuple[str, str, str]]:
    metrics = facts.run.metrics
    splits, size = metrics.splits, metrics.model
    found = []
    average = splits[judged[0]].avg_ll if judged else None
    if average is not None:
        name = judged[0]
        found.append((f"{words(name)} rows", number(average), "nats per row"))
        if name in independent:
            gain = average - independent[name]
            found.append(("gain", _signed(gain), "nats over independent columns"))
        train = splits["train"].avg_ll if "train" in splits else None
        if name != "train" and train is not None:
            found.append(("gap", number(train - average), "nats below training rows"))
        if _has_probabilities(facts):
            choices = exp(-average / len(facts.run.model.columns))
            found.append(("perplexity", brief(choices), "equally likely values per column"))
    found.append(("edges", f"{size['edges']:,}", f"{size['parameters']:,} parameters"))
    backend, seed = metrics.backend, metrics.seed
    what = f"on {backend}, seed {seed}"
    if metrics.search is not None:
        what = f"for {counted(len(metrics.search.tries), 'try', 'tries')} on {backend}"
    found.append(("time", duration(metrics.spent), what))
    return found


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value)

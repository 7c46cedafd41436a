"""Mutual information of pairs of columns: data below the diagonal, model above it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.reports.facts.gather import Facts
from spnc.reports.facts.pairs import LISTED, Pair, Pairs
from spnc.reports.page.html import Html, brief, data, el, joined, label, number, percent, shortened
from spnc.reports.page.matrix import NAMED, matrix, scale
from spnc.reports.page.parts import Section, figure, subheading, table

NOTHING = 1e-9  # nats; with less mutual information, a correlation would be of rounding errors


def section(facts: Facts) -> Section | None:
    """Return the matrix, the strongest pairs, and those with the largest differences."""
    pairs = facts.pairs
    if pairs is None:
        return None
    n = len(pairs.names)
    below = np.tri(n, k=-1, dtype=bool)
    drawn = np.where(below, pairs.data, pairs.model)
    np.fill_diagonal(drawn, np.nan)
    top = float(np.nanmax(drawn))
    words = _finding(pairs)
    picture = el(
        "div",
        el("output", class_="readout", aria_live="polite"),
        matrix(
            f"Mutual information of pairs of columns. {words}",
            drawn,
            pairs.names,
            top,
            sides=("below the diagonal: data", "above the diagonal: model"),
        ),
        el("p", el("span", "The arrow keys move from cell to cell.", class_="hint needs-script")),
        class_="plot square pairs",
        tabindex="0",
        role="group",
        aria_label="Mutual information; arrow keys move from cell to cell",
        data_source="pairs-data",
    )
    about = {
        "names": [shortened(name, 60) for name in pairs.names],
        "data": _upper(pairs.data),
        "model": _upper(pairs.model),
    }
    caption = (
        "Mutual information in nats, on a square-root scale. If the model has learned all "
        "pairwise dependences of the data, the matrix is symmetric."
    )
    if pairs.by_chance > 0.0:
        caption += (
            f" In {pairs.rows:,} rows of independent columns it would be "
            f"{brief(pairs.by_chance)} on average, by chance alone."
        )
    if pairs.columns > n:
        caption += f" The {n} of {pairs.columns:,} columns with the strongest pairs are shown."
    if n > NAMED:
        caption += " Numbers at the axes count the columns shown, from one."
    if pairs.rows < pairs.all_rows:
        caption += f" The values of the data are from {pairs.rows:,} of {pairs.all_rows:,} rows."
    body = joined(
        scale(top, "nats"),
        figure(picture, caption),
        _tables(pairs),
        data("pairs-data", about),
    )
    return Section("pairs", "Pairs of columns", words, body)


def _finding(pairs: Pairs) -> str:
    summary = pairs.summary
    kept = summary["mean_model"] / summary["mean_empirical"] if summary["mean_empirical"] else None
    if kept is None:
        return "In the data, no two columns depend on each other."
    who, more = "The average mutual information of two columns is", ""
    if pairs.columns > len(pairs.names):
        who = (
            f"Among the {len(pairs.names)} columns with the strongest pairs, the average mutual "
            "information of two is"
        )
        more = f" (among all {pairs.columns:,} columns {brief(pairs.mean_of_all)})"
    said = (
        f"{who} {brief(summary['mean_empirical'])} nats in the data{more} and "
        f"{brief(summary['mean_model'])} in the model ({percent(kept, 0)})"
    )
    if summary["correlation"] is not None and summary["mean_model"] > NOTHING:
        said += f", with a correlation of {number(summary['correlation'], 3)} over pairs"
    worst = pairs.missed[0]
    names = " and ".join(shortened(pairs.names[i], 40) for i in (worst.first, worst.second))
    doing = "misses most" if worst.model < worst.data else "overstates most"
    return f"{said}; the model {doing} between {names}."


def _tables(pairs: Pairs) -> Html:
    if pairs.summary["pairs"] <= LISTED:
        return _table(pairs, "All pairs", pairs.strongest)
    return el(
        "div",
        _table(pairs, "Strongest in the data", pairs.strongest),
        _table(pairs, "Largest differences", pairs.missed),
        class_="pair",
    )


def _table(pairs: Pairs, title: str, some: Sequence[Pair]) -> Html:
    rows = [
        (
            joined(label(pairs.names[p.first], 22), " – ", label(pairs.names[p.second], 22)),
            brief(p.data),
            brief(p.model),
            brief(p.model - p.data),
        )
        for p in some
    ]
    head = ["columns", "data", "model", "difference"]
    caption = f"{title}, in nats"
    return el("div", subheading(title), table(head, rows, caption=caption, sortable=True))


def _upper(values: np.ndarray) -> list[float]:
    """Return the values above the diagonal, line by line, in few digits."""
    return [float(f"{v:.3g}") for v in values[np.triu_indices(len(values), k=1)].tolist()]

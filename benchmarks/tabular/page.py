"""The page about the densities of mixed tables, written from the record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any

from benchmarks.common.intervals import EXPLANATION, Interval, interval
from benchmarks.common.markdown import filled, table
from benchmarks.tabular.listed import LISTED, SOURCE
from benchmarks.tabular.record import Key
from benchmarks.tabular.spflow_models import SLICES
from benchmarks.tabular.systems import LISTED_ONLY, PARTS, SHARES, SYSTEMS

Result = dict[str, Any]
Cells = dict[Key, Result]

_SLICES = ", ".join(map(str, SLICES))
_DIGITS = 2  # as many as the listed figures have

_ABOUT = f"""Eight mixed tables with the splits that come with them. Average test log-likelihoods
per row in nats: densities of real columns in the table's units, probabilities of discrete ones.
Choices are made on validation rows, and rows with a missing cell are left out; {EXPLANATION}.
*Listed* are the figures of {SOURCE}. **Bold**: the best figure of a table, measured or listed.
The last column of an overview is that of the model of spnc that is best on validation rows.

*Test* and *valid* are of **dequantised** rows: real columns are rounded to a resolution, the
smallest gap between two values, and have uniform noise of one resolution here. *Plain* is the
density at the rounded values themselves. The models of spnc are trained on plain rows and are told
the resolutions, except where a line says otherwise; all other systems are trained on dequantised
rows, since a spike on a rounded value that repeats can be as high as one likes. Discrete columns
have the states, and SPFlow's columns the ranges, of all splits.

SPFlow 0.0.48: `learn_mspn` and `learn_parametric` with their defaults, and the number of rows that
is still divided chosen among {_SLICES}. Its histogram leaf is no density for real
columns, and its categorical leaf gives unseen states no probability; both are repaired
([how](../peers/spflow_histograms.py), [and where](../peers/spflow_legacy_tables_worker.py)).
*Independent* is a Gaussian or a histogram for each real column; *atoms* adds a box of one
resolution on every value that repeats in training. *Seconds* are those of training, with all that
is chosen among; SPFlow's include its start and the scores.
"""
_HIDING = """A share of the cells of training and validation rows is hidden, never a whole row; the
test rows are complete. *Cost* is what that loses in comparison with complete training rows. SPFlow
does not learn from missing cells: it gets rows filled with the mean or the most frequent state of
each column or, if that is better for the validation rows, complete rows alone.
"""
_SYNTHETIC = """10,000 rows drawn from the recipe's model (first seed). *Accuracy*: a classifier's
on real test rows, trained on real training rows and on drawn ones; it is gradient boosting or a
random forest, whichever is better on validation rows when trained on real ones. *AUC*: a detector's
of drawn rows among real ones, gradient boosting in five folds over all real rows and as many drawn
ones. 0.5 is chance. Real numbers are rounded to the column's resolution, in whole numbers of
resolutions, or left as drawn.
"""
_FIT = """The largest distance between the shares of test rows and the model's marginal (first seed)
of each real column, by Kolmogorov and Smirnov. Rounded values have ties: each counts with a random
share of the probability that the model gives to all that rounds to it. *Chance* is what 95% of the
distances are below if the model is right, 1.36 / √rows. **Bold**: above it.
"""


_EARLIER = """**The recipe has changed since.** Figures of *spnc, one recipe* are those of an
earlier version of `specs/best/table.yaml` for: {tables}. The next run of the benchmark measures
them again.
"""


def page(
    record: Iterable[tuple[Key, Result]], pictures: Sequence[str] = (), recipe: str | None = None
) -> str:
    """Return the page of all results; `pictures` are the tables that have one.

    `recipe` is the fingerprint of the present recipe; results of another are pointed out.
    """
    cells = dict(record)
    parts = [
        "# Densities of mixed tables\n\nWritten by `python -m benchmarks.tables`.\n",
        filled(_ABOUT),
    ]
    ours = ((key, cell) for key, cell in cells.items() if key.system == "spnc")
    earlier = sorted({key.table for key, cell in ours if cell.get("setting") != recipe})
    if recipe is not None and earlier:
        parts.append(filled(_EARLIER.format(tables=", ".join(earlier))))
    for part in ("all", "real"):
        if names := _names(cells, part):
            title = PARTS[part]
            parts += [f"## {title[0].upper()}{title[1:]}\n", _overview(cells, part, names)]
            parts += [f"### {title[0].upper()}{title[1:]}, by table\n"]
            parts += [_details(cells, part, name) for name in names]
    if any(_names(cells, part) for part in SHARES):
        parts += ["## Hidden cells\n", filled(_HIDING), _hiding(cells)]
    if names := _names(cells, "synthetic"):
        parts += ["## Drawn rows\n", filled(_SYNTHETIC), _synthetic(cells, names)]
    if names := _names(cells, "fit"):
        parts += ["## Marginals\n", filled(_FIT), _fit(cells, names)]
        parts += [f"![The real columns of {name}](tables-{name}.png)\n" for name in pictures]
    return "\n".join(parts)


def _names(cells: Cells, part: str) -> list[str]:
    return sorted({key.table for key in cells if key.part == part})


def _found(cells: Cells, name: str, part: str) -> dict[str, list[Result]]:
    """Return the results of every system that was measured, in the order of the catalogue."""
    found = {}
    for system in SYSTEMS:
        own = [r for key, r in sorted(cells.items()) if key[:3] == (name, part, system)]
        if own:
            found[system] = own
    return found


def _mean(results: Sequence[Result], what: str = "test") -> Interval:
    return interval([result[what] for result in results])


def _overview(cells: Cells, part: str, names: Sequence[str]) -> str:
    """Return a line for each table: ours, the best of the others, and the best that is listed."""
    rows, wins = [], 0
    ours = [s for s in SYSTEMS if SYSTEMS[s].is_ours and _measures(cells, part, s)]
    for name in names:
        found, listed = _found(cells, name, part), LISTED[part].get(name, {})
        means = {system: _mean(results).mean for system, results in found.items()}
        others = {s: v for s, v in means.items() if s not in ours}
        top = _top([*means.values(), *listed.values()])
        line = [name]
        line += [_cell(_mean(found[s]), top) if s in found else "–" for s in ours]
        for figures in (others, listed):
            best = max(figures, key=lambda s: figures[s]) if figures else None
            line.append(
                "–" if best is None else f"{_cell(Interval(figures[best], None, 1), top)} {best}"
            )
        own = {s: _mean(found[s], "valid").mean for s in ours if s in found}
        rest = [*others.values(), *listed.values()]
        judged = means[max(own, key=lambda s: own[s])] if own else None
        shown = "–" if judged is None or not rest else f"{judged - max(rest):+.{_DIGITS}f}"
        line.append(shown)
        wins += judged is not None and (not rest or round(judged, _DIGITS) >= _top(rest))
        rows.append(line)
    head = ["table", *ours, "best other measured", "best listed", "spnc above both by"]
    return table(head, rows, 1) + f"\nspnc is best on {wins} of {len(rows)} tables.\n"


def _measures(cells: Cells, part: str, system: str) -> bool:
    return any((key.part, key.system) == (part, system) for key in cells)


def _details(cells: Cells, part: str, name: str) -> str:
    """Return a line for each system that was measured on a table or has a listed figure."""
    found, listed = _found(cells, name, part), LISTED[part].get(name, {})
    means = [_mean(results).mean for results in found.values()]
    top, rows = _top([*means, *listed.values()]), []
    for system in (*SYSTEMS, *LISTED_ONLY):
        if system not in found and system not in listed:
            continue
        title = SYSTEMS[system].title if system in SYSTEMS else LISTED_ONLY[system]
        shown = _cell(Interval(listed[system], None, 1), top) if system in listed else "–"
        if system not in found:
            rows.append([title, "", "–", "–", shown, "–", "–"])
            continue
        own = found[system]
        seconds = f"{mean(r['seconds'] for r in own):.0f}"
        valid, plain = (_mean(own, what).text(_DIGITS) for what in ("valid", "plain"))
        choice = own[0].get("choice", "")
        rows.append([title, choice, valid, _cell(_mean(own), top), shown, plain, seconds])
    return table([name, "choice", "valid", "test", "listed", "plain", "seconds"], rows, 2)


def _top(values: Sequence[float]) -> float:
    """Return the best of some figures, rounded as they are shown."""
    return max(round(value, _DIGITS) for value in values)


def _cell(figure: Interval, top: float) -> str:
    """Return a figure, in bold if it is the best one."""
    return figure.text(_DIGITS, bold=round(figure.mean, _DIGITS) >= top)


def _hiding(cells: Cells) -> str:
    """Return a line for each table and system: what hidden cells cost."""
    rows = []
    names = sorted({key.table for key in cells if key.part in SHARES})
    for name in names:
        every = {part: _found(cells, name, part) for part in ("all", *SHARES)}
        tops = {
            part: _top([_mean(r).mean for r in own.values()]) for part, own in every.items() if own
        }
        systems = [s for s in SYSTEMS if any(s in every[part] for part in SHARES)]
        for system in systems:
            complete = every["all"].get(system)
            line = [name, system, _mean(complete).text(_DIGITS) if complete else "–"]
            for part in SHARES:
                own = every[part].get(system)
                if own is None:
                    line += ["–", "–"]
                    continue
                figure = _mean(own)
                cost = _mean(complete).mean - figure.mean if complete else None
                line.append(_cell(figure, tops[part]))
                line.append("–" if cost is None else f"{cost:.{_DIGITS}f}")
            rows.append(line)
    head = ["table", "system", "complete"]
    head += [text for part in SHARES for text in (part.removeprefix("hidden "), "cost")]
    return table(head, rows, 2)


def _synthetic(cells: Cells, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        own = cells[Key(name, "synthetic", "spnc", 0)]
        rows.append(
            [
                name,
                own["choice"],
                f"{own['accuracy real']:.3f}",
                f"{own['accuracy sampled']:.3f}",
                f"{own['ratio']:.3f}",
                f"{own['auc rounded']:.3f}",
                f"{own['auc as sampled']:.3f}",
            ]
        )
    head = ["table", "classifier", "accuracy, real rows", "drawn rows", "ratio"]
    return table([*head, "AUC, rounded", "AUC, as drawn"], rows, 2)


def _fit(cells: Cells, names: Sequence[str]) -> str:
    rows = []
    for name in names:
        own = cells[Key(name, "fit", "spnc", 0)]
        for column, distance in own["distances"].items():
            shown = f"{distance:.3f}"
            shown = f"**{shown}**" if distance > own["chance"] else shown
            rows.append([name, column, shown, f"{own['chance']:.3f}"])
    above = sum(row[2].startswith("**") for row in rows)
    text = table(["table", "column", "distance", "chance"], rows, 2)
    return text + f"\nAbove it: {above} of {len(rows)} columns; 1 of 20 is expected by chance.\n"

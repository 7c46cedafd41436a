"""Learning curves: log-likelihood of training and validation rows by iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spnc.reports.facts.gather import Facts
from spnc.reports.page.charts import Frame, axes, path, svg
from spnc.reports.page.html import Html, data, el, joined, number
from spnc.reports.page.parts import Section, cut_to, figure, legend, table
from spnc.reports.plots.learning_curve import limits
from spnc.runs.fit_metrics import ALONE, FitMetrics, ObjectiveMetrics, PruneMetrics

_MOST = 400  # rows in the table of numbers


def section(facts: Facts) -> Section:
    """Return the curves; the script of the page lets a reader zoom in."""
    history = facts.run.history
    if len(history.iterations) == 1:
        words = "The learner set all parameters; training had no iterations."
        return Section("curves", "Learning curve", words, _numbers(facts))
    second = _second_fit(facts.run.metrics.prune)
    series = [("train", "training rows", history.train)]
    if history.valid:
        series.append(("valid", "validation rows", history.valid))
    low, high = limits([history])
    first, last = history.iterations[0], history.iterations[-1]
    frame = Frame(first, max(last, first + 1), low, high, height=340)
    kept = None if history.kept is None else history.iterations[history.kept]
    about = {
        "x": list(history.iterations),
        "series": [
            {"name": name, "class": class_, "y": [_plain(v) for v in values]}
            for class_, name, values in series
        ],
        "kept": kept,
        "second": second,
        "frame": {k: getattr(frame, k) for k in ("width", "height", "left", "right", "top")}
        | {"bottom": frame.bottom, "x0": frame.x0, "x1": frame.x1, "y0": low, "y1": high},
    }
    words = _finding(facts, second)
    picture = el(
        "div",
        el("output", class_="readout", aria_live="polite"),
        svg(frame, f"Learning curve. {words}", _drawn(frame, facts, kept, second)),
        el(
            "p",
            el("button", "Whole curve", type="button", class_="reset", hidden=True),
            el(
                "span",
                "Zoom by dragging across the chart, or with the mouse wheel while holding Ctrl or "
                "after clicking the chart. The arrow keys step through the iterations.",
                class_="hint needs-script",
            ),
            class_="tools",
        ),
        class_="plot curves",
        tabindex="0",
        role="group",
        aria_label="Learning curve; arrow keys step through the iterations",
        data_source="curves-data",
    )
    marks = [("line train", "training rows"), ("line valid", "validation rows")][: len(series)]
    if kept is not None:
        marks.append(("ring valid" if history.valid else "ring train", "parameters kept"))
    body = joined(
        legend(marks),
        figure(
            picture,
            "Average log-likelihood in nats by iteration."
            + (" The first iterations are below the visible range." if _cut(facts, low) else ""),
            _numbers(facts),
        ),
        data("curves-data", about),
    )
    return Section("curves", "Learning curve", words, body)


def _drawn(frame: Frame, facts: Facts, kept: int | None, second: int | None) -> list[Html]:
    history = facts.run.history
    inside = el(
        "clipPath",
        el(
            "rect",
            x=frame.left,
            y=0,
            width=frame.width - frame.left - frame.right + 10,  # room for the last mark
            height=frame.height - frame.bottom,
        ),
        id="curves-inside",
    )
    drawn = [axes(frame, "iteration", "log-likelihood, nats", whole=True)]
    lines = []
    if second is not None:
        at = frame.x(second - 0.5)
        lines.append(el("line", x1=at, x2=at, y1=0, y2=frame.height, class_="second"))
    for class_, values in (("train", history.train), ("valid", history.valid)):
        if values:
            points = zip(history.iterations, values, strict=True)
            d = path([(frame.x(x), frame.y(y)) for x, y in points])
            lines.append(el("path", d=d, class_=f"curve {class_}"))
    if history.kept is not None and kept is not None:
        class_, curve = ("valid", history.valid) if history.valid else ("train", history.train)
        x, y = frame.x(kept), frame.y(curve[history.kept])
        if math.isfinite(y):
            lines.append(el("circle", cx=x, cy=y, r=6, class_=f"kept {class_}"))
    drawn += [inside, el("g", lines, class_="lines", clip_path="url(#curves-inside)")]
    return drawn


def _finding(facts: Facts, second: int | None) -> str:
    history, optimizer = facts.run.history, facts.run.metrics.optimizer
    last = history.iterations[-1]
    if facts.run.metrics.objective is not None:
        return f"Training ran for {last:,} iterations. {_refined(facts.run.metrics.objective)}"
    if history.kept is None:
        return f"Training ran for {last:,} iterations."
    kept, at = history.iterations[history.kept], history.kept
    train = history.train[at]
    if history.valid and optimizer.kept != "last":
        gap = train - history.valid[at]
        better = f"{number(gap)} nats better" if gap > 0 else "no better"
        better += " than validation rows"
        more = f"training rows are {better}" + (" there" if kept < last else "")
        if kept < last and at == 0:
            said = f"Validation never improved on its start in {last:,} iterations; {more}"
        elif kept < last:
            said = f"Validation stopped improving at iteration {kept:,} of {last:,}; {more}"
        else:
            said = (
                f"Validation was still improving when training ended at iteration {last:,} "
                f"({_why(optimizer.stopped)}); {more}"
            )
    else:
        start = history.train[0]
        went = "fell" if train < start else "rose"
        said = (
            f"The log-likelihood of training rows {went} from {number(start)} to {number(train)} "
            f"nats in {last:,} iterations ({_why(optimizer.stopped)})"
        )
        said += "" if history.valid else "; there are no validation rows"
    prune = facts.run.metrics.prune
    if second is None or prune is None:
        return f"{said}."
    return f"{said}. {_pruned(prune)}"


def _refined(objective: ObjectiveMetrics) -> str:
    target = ", ".join(objective.target)
    if objective.stopped == ALONE:
        return f"Before that, each component was fitted on its own to predict {target}."
    said = f"The last {objective.iterations:,} fitted the parameters to predict {target}"
    if objective.start is not None and objective.reached is not None:
        rows = "validation" if objective.judged_on == "valid" else "training"
        said += (
            f": the log-likelihood of the target given the other cells of {rows} rows went from "
            f"{number(objective.start)} to {number(objective.reached)} nats"
        )
    return f"{said}. The curves are those of whole rows."


def _pruned(prune: PruneMetrics) -> str:
    smaller = f"{prune.edges_before:,} to {prune.edges_after:,} edges"
    if prune.kept == "pruned":
        return f"At the dotted line the circuit was pruned from {smaller} and trained again."
    why = "made rows impossible" if _lost_rows(prune.fits) else "did worse"
    return f"Pruning from {smaller} (after the dotted line) {why} and was undone."


def _lost_rows(fits: Sequence[FitMetrics]) -> bool:
    """Whether impossible rows are why a pruned circuit was not kept: its averages were no worse."""
    before, after = fits
    if before.valid is not None and after.valid is not None:
        return after.valid >= before.valid
    return after.train >= before.train


def _why(stopped: str) -> str:
    return f"stopped by {stopped.replace('_', ' ')}"


def _second_fit(prune: PruneMetrics | None) -> int | None:
    """Return the first iteration after pruning; None if there was no second fit."""
    if prune is None or len(prune.fits) != 2:
        return None
    return prune.fits[0].iterations + 1


def _cut(facts: Facts, low: float) -> bool:
    return any(v < low for v in facts.run.history.train)


def _numbers(facts: Facts) -> Html:
    history = facts.run.history
    count = len(history.iterations)
    step = -(-count // _MOST)
    chosen = sorted({*range(0, count, step), count - 1, history.kept or 0})
    rows = [
        (
            f"{history.iterations[i]:,}",
            number(history.train[i], 4),
            *((number(history.valid[i], 4),) if history.valid else ()),
        )
        for i in chosen
    ]
    head = ["iteration", "training rows", *(["validation rows"] if history.valid else [])]
    marked = [k for k, i in enumerate(chosen) if i == history.kept]
    caption = "Average log-likelihood by iteration, in nats; the iteration kept is marked"
    few = cut_to(f"{len(chosen)}", len(chosen), count, "iterations")
    caption += f". {few}" if few else ""
    return table(head, rows, caption=caption, marked=marked)


def _plain(value: float) -> float | None:
    return float(f"{value:.7g}") if math.isfinite(value) else None

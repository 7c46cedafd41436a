"""What reproduces the run: recipe, data, versions; and the time of each stage."""

from __future__ import annotations

from spnc.reports.facts.gather import Facts
from spnc.reports.page.charts import Bar, bars_chart
from spnc.reports.page.html import duration, el, joined, percent
from spnc.reports.page.parts import Section, facts, figure, subheading, table

_STAGES = {
    "data": "reading data",
    "structure": "structure",
    "residual": "links",
    "compile": "compiling",
    "prepare": "backend",
    "plan": "planning",
    "train": "training",
    "evaluate": "evaluating",
}

_IN_WORDS = {
    **_STAGES,
    "structure": "learning the structure",
    "residual": "drawing links",
    "prepare": "preparing the backend",
    "plan": "planning the passes over the rows",
}


def section(found: Facts) -> Section:
    """Return the lock file, ready to copy, and the seconds of every stage."""
    run = found.run
    metrics, provenance = run.metrics, run.model.provenance
    seconds = {k: float(v) for k, v in metrics.seconds.items() if k != "total"}
    total = float(metrics.seconds["total"]) or 1.0
    bars = [
        Bar(
            _STAGES.get(name, name),
            value,
            duration(value),
            f"{_STAGES.get(name, name)}: {duration(value)}, {percent(value / total)}",
        )
        for name, value in seconds.items()
    ]
    longest = max(seconds, key=lambda name: seconds[name], default=None)
    rows = [(b.label, f"{b.value:.3f}", percent(b.value / total)) for b in bars]
    numbers = table(["stage", "seconds", "share"], rows, caption="Seconds by stage")
    searched = metrics.search is not None
    spent = "Times of the chosen try, without the stages that it shares with an earlier try."
    known = [
        ("data", run.recipe.data.source or "files" if run.recipe is not None else "–"),
        ("SHA-256 of the data", el("code", str(provenance.get("data", "–")))),
        ("versions", str(provenance.get("versions", "–"))),
        ("backend", metrics.backend),
        ("seed", str(metrics.seed)),
        ("run folder", run.path.resolve().name),
    ]
    body = joined(
        facts(known),
        subheading("The recipe, with all defaults"),
        el(
            "div",
            el("button", "Copy", type="button", class_="copy", hidden=True),
            el("pre", el("code", run.lock_text), id="recipe-text", tabindex="0"),
            class_="recipe",
        ),
        el(
            "p",
            "Save it as a spec next to the files of the run, or train from the run folder itself: ",
            el("code", "spnc train recipe.lock.yaml --out another"),
            class_="note",
        ),
        subheading("Time by stage"),
        figure(
            bars_chart("Seconds by stage. The numbers follow.", bars),
            spent if searched else "",
            numbers,
        )
        if bars
        else None,
    )
    words = "The recipe below reproduces the model from the same data"
    if searched:  # tries share stages, so the seconds are not those of one training
        words += ", without the search"
        longest = None
    else:
        words += f" in {duration(total)}"
    if longest is not None:
        share = percent(seconds[longest] / total, 0)
        words += f", {share} of it for {_IN_WORDS.get(longest, longest)}"
    return Section("origin", "Reproducing the run", words + ".", body)

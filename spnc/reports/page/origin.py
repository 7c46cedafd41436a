"""Where the run came from: recipe, data, versions, and where the time went."""

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
    "train": "training",
    "evaluate": "evaluating",
}

_IN_WORDS = {
    **_STAGES,
    "structure": "learning the structure",
    "residual": "drawing links",
    "prepare": "preparing the backend",
}


def section(found: Facts) -> Section:
    """The lock file, ready to copy, and the seconds of every stage."""
    run = found.run
    metrics, provenance = run.metrics, run.model.provenance
    seconds = {k: float(v) for k, v in metrics["seconds"].items() if k != "total"}
    total = float(metrics["seconds"]["total"]) or 1.0
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
    searched = "search" in metrics
    spent = "Of the chosen try; what it has in common with an earlier one was there already."
    known = [
        ("data", run.recipe.data.source or "files" if run.recipe is not None else "–"),
        ("SHA-256 of the data", el("code", str(provenance.get("data", "–")))),
        ("versions", str(provenance.get("versions", "–"))),
        ("backend", metrics["backend"]),
        ("seed", str(metrics["seed"])),
        ("run folder", run.path.resolve().name),
    ]
    body = joined(
        facts(known),
        subheading("The recipe, with every default"),
        el(
            "div",
            el("button", "Copy", type="button", class_="copy", hidden=True),
            el("pre", el("code", run.lock_text), id="recipe-text", tabindex="0"),
            class_="recipe",
        ),
        el(
            "p",
            "Save it as a spec beside the run’s files, or train from the run folder itself: ",
            el("code", "spnc train recipe.lock.yaml --out another"),
            class_="note",
        ),
        subheading("Where the time went"),
        figure(
            bars_chart("Seconds by stage. The numbers follow.", bars),
            spent if searched else "",
            numbers,
        )
        if bars
        else None,
    )
    words = "The recipe below, on the same data, gives the same model again"
    if searched:  # tries share what they can, so the seconds are not those of one training
        words += ", without searching"
        longest = None
    else:
        words += f" in {duration(total)}"
    if longest is not None:
        share = percent(seconds[longest] / total, 0)
        words += f", {share} of it for {_IN_WORDS.get(longest, longest)}"
    return Section("origin", "Can it be repeated?", words + ".", body)

"""The whole page: its sections in order, with style and script inside."""

from __future__ import annotations

from spnc.common.web import base_style, policy_of, text_of, theme_script
from spnc.diagnostics import counted
from spnc.explore.page import explore_script, explore_style
from spnc.reports.facts.gather import Facts
from spnc.reports.page import (
    ask,
    circuit,
    columns,
    curves,
    origin,
    pairs,
    rows,
    samples,
    summary,
    tries,
)
from spnc.reports.page.html import Html, el, joined
from spnc.reports.page.parts import Section

SECTIONS = (summary, curves, circuit, pairs, columns, rows, samples, ask, tries, origin)


def sections(facts: Facts) -> list[Section]:
    """Return the sections that apply to the run, in order."""
    found = [module.section(facts) for module in SECTIONS]
    return [section for section in found if section is not None]


def page(facts: Facts, found: list[Section]) -> str:
    """Return one self-contained HTML text, which runs no script but its own."""
    style = base_style() + text_of(__package__, "page.css")
    script = theme_script() + text_of(__package__, "page.js")
    if ask.why_not(facts) is None:
        style, script = style + explore_style(), script + explore_script()
    policy = policy_of(script)
    name = facts.run.model.name
    head = el(
        "head",
        el("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="generator", content="spnc report"),
        el("title", f"{name} · spnc report"),
        el("style", Html(style)),
    )
    links = [el("li", el("a", s.title, href=f"#{s.id}")) for s in found]
    body = el(
        "body",
        el("a", "Skip to content", href="#main", class_="skip"),
        el(
            "header",
            el("p", "spnc report", class_="kind"),
            el("h1", name),
            el("p", _line(facts), class_="line"),
            el("button", "Dark", type="button", class_="theme", hidden=True),
        ),
        el("nav", el("ul", links), aria_label="Sections"),
        el(
            "main",
            _no_data(facts),
            [s.html() for s in found],
            id="main",
        ),
        el("footer", el("p", "Written by spnc. This page is self-contained.")),
        el("div", class_="tip", aria_hidden="true", hidden=True),
        el("script", Html(script)),
    )
    return "<!DOCTYPE html>\n" + joined(el("html", head, body, lang="en")) + "\n"


def _line(facts: Facts) -> str:
    """Return the data of the run in one line."""
    run = facts.run
    names = {"train": "training", "valid": "validation", "test": "test"}
    splits = run.metrics.splits.items()
    rows = ", ".join(f"{split.rows:,} {names.get(name, name)}" for name, split in splits)
    source = run.dataset.name if run.dataset is not None else None
    source = source or (run.recipe.data.source if run.recipe is not None else None) or "data"
    return f"{source}: {counted(len(run.model.columns), 'column')}; rows: {rows}"


def _no_data(facts: Facts) -> Html | None:
    why = facts.run.no_data
    if why is None:
        return None
    return el(
        "p",
        f"Without the data of the run ({why}), this page has no sections on pairs of columns, "
        "columns, rows and samples.",
        class_="warning",
        role="note",
    )

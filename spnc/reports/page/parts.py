"""The building blocks of sections: headings with findings, figures, tables, tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spnc.reports.page.html import Html, el, joined

MANY_ROWS = 14  # a longer table scrolls in a frame of its own


@dataclass(frozen=True)
class Section:
    """A section of the page. `finding` sums it up in a sentence, all that most readers want."""

    id: str
    title: str
    finding: str
    body: Html
    note: str | None = None

    def html(self) -> Html:
        """Return the section as an element."""
        return el(
            "section",
            el("h2", self.title, id=f"{self.id}-title"),
            el("p", self.finding, class_="finding"),
            el("p", self.note, class_="note") if self.note else None,
            self.body,
            id=self.id,
            aria_labelledby=f"{self.id}-title",
        )


@dataclass(frozen=True)
class TableCell:
    """A cell of a table. It shows `shown`; sorting uses `value`."""

    shown: object
    value: float | str | None = None
    class_: str | None = None


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    caption: str,
    left: int = 1,
    sortable: bool = False,
    marked: Sequence[int] = (),
    scroll: bool = True,
) -> Html:
    """Return a table in a frame that scrolls if the table is too wide, or long and `scroll` is set.

    The first `left` columns are aligned to the left, the others, numbers, to the right. Rows whose
    places are in `marked` are highlighted.
    """

    def cell(value: object, i: int) -> Html:
        own = value if isinstance(value, TableCell) else TableCell(value)
        classes = " ".join(filter(None, [None if i < left else "n", own.class_])) or None
        sort = None if own.value is None else str(own.value)
        tag = "th" if i == 0 else "td"
        scope = "row" if i == 0 else None
        return el(tag, own.shown, class_=classes, data_value=sort, scope=scope)

    body = [
        el("tr", [cell(v, i) for i, v in enumerate(row)], class_="marked" if k in marked else None)
        for k, row in enumerate(rows)
    ]
    names = [el("th", h, scope="col", class_=None if i < left else "n") for i, h in enumerate(head)]
    made = el(
        "table",
        el("caption", el("span", caption)),
        el("thead", el("tr", names)),
        el("tbody", body),
        class_="sortable" if sortable else None,
    )
    tall = scroll and len(rows) > MANY_ROWS
    # A frame that scrolls has to be reachable by keyboard.
    return el(
        "div",
        made,
        class_="frame tall" if tall else "frame",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def figure(
    plot: Html, caption: object, behind: Html | None = None, *, summary: str = "The numbers"
) -> Html:
    """Return a picture with a caption, and its numbers in a table that unfolds."""
    details = el("details", el("summary", summary), behind) if behind is not None else None
    return el("figure", plot, el("figcaption", caption), details)


def cut_to(which: str, shown: int, of: int, noun: str) -> str | None:
    """Return a sentence such as `Only the 20 best of 64 tries are listed.`; None if all are."""
    return f"Only {which} of {of:,} {noun} are listed." if of > shown else None


def subheading(title: str) -> Html:
    """Return a heading inside a section."""
    return el("h3", title)


def legend(entries: Sequence[tuple[str, str]]) -> Html:
    """Return a legend; each entry is (CSS class of its mark, words)."""
    return el(
        "p",
        [el("span", el("i", class_=mark), words) for mark, words in entries],
        class_="legend",
    )


def facts(entries: Sequence[tuple[str, object]]) -> Html:
    """Return names and values in two columns."""
    return el("dl", [joined(el("dt", name), el("dd", value)) for name, value in entries])


def tiles(entries: Sequence[tuple[str, str, str]]) -> Html:
    """Return a few large numbers; each entry is (what, number, unit or explanation)."""
    return el(
        "ul",
        [
            el(
                "li",
                el("span", what, class_="what"),
                el("strong", value),
                el("span", more, class_="more"),
            )
            for what, value, more in entries
        ],
        class_="tiles",
    )

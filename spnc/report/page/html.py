"""HTML that cannot be broken by what is in it: everything is escaped unless it is `Html`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = {"br", "hr", "img", "input", "link", "meta"}


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def el(tag: str, *children: object, **attributes: object) -> Html:
    """An element. Children are elements, texts, or lists of these; None is left out.

    An attribute's name may end in `_` (`class_`), and an `_` inside it becomes `-`. One that is
    None or False is left out, one that is True has no value.
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        parts.append(f" {name}" if value is True else f' {name}="{escape(shown(value))}"')
    parts.append(">")
    if tag not in VOID:
        parts += [joined(*children), f"</{tag}>"]
    return Html("".join(parts))


def joined(*children: object) -> Html:
    """Elements and texts one after the other."""
    return Html("".join(_pieces(children)))


def _pieces(children: Iterable[object]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, list | tuple):
            yield from _pieces(child)
        else:
            yield escape(shown(child))


def shown(value: object) -> str:
    """A text, or a number as coordinates want it: short."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return str(value)


def data(name: str, content: Any) -> Html:
    """Data for the script of the page. Nothing in it can end the element that holds it."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')


# ---- numbers as people read them -----------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    """A number with so many decimals, a true minus sign, and words for what is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "\N{MINUS SIGN}∞"
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.removeprefix("-")
    return text.replace("-", "\N{MINUS SIGN}")


def brief(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits."""
    if value is None or not math.isfinite(value):
        return number(value)
    if abs(value) < 1e-12:  # what is left over by rounding
        return "0"
    if value != 0.0 and (abs(value) < 1e-4 or abs(value) >= 1e6):
        return f"{value:.{digits - 1}e}".replace("-", "\N{MINUS SIGN}")
    text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.{digits}f}\u202f%"


def chance(log_probability: float | None) -> str:
    """A probability from its logarithm, such as `1 in 380` where it is small."""
    if log_probability is None or math.isnan(log_probability):
        return "–"
    if log_probability == -math.inf:
        return "impossible"
    p = math.exp(log_probability)
    if p >= 0.05:
        return percent(p, 0)
    return f"1 in {math.exp(min(-log_probability, 34.0)):,.0f}"


def clipped(name: str, limit: int) -> str:
    """A name that is not longer than there is room for."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def duration(seconds: float) -> str:
    """A time span as people say it."""
    if seconds < 60:
        return (
            f"{seconds:.1f} s" if seconds >= 0.1 or seconds == 0.0 else f"{1000 * seconds:.0f} ms"
        )
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"

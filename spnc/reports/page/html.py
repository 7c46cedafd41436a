"""HTML elements and numbers as text; every text is escaped unless it is `Html`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape
from typing import Any

from spnc.common.web import script_json
from spnc.common.wording import clipped, duration, visible, width

__all__ = [
    "Html",
    "brief",
    "chance",
    "clipped",
    "data",
    "duration",
    "el",
    "exp",
    "joined",
    "label",
    "number",
    "percent",
    "shortened",
    "shown",
]

_PIECES = re.compile(r"[^_.,:;/|=+-]*[_.,:;/|=+-]+|[^_.,:;/|=+-]+")  # of a name, to wrap after
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


class Html(str):
    """A text that is already HTML, so it is not escaped again."""

    __slots__ = ()


def el(tag: str, *children: object, **attributes: object) -> Html:
    """Return an element. Children are elements, texts, or lists of these; None is left out.

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
    """Return elements and texts one after the other."""
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
    """Return a text with hidden characters made visible, or a short number for coordinates."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return visible(str(value), keep="\n\t")


def shortened(name: str, limit: int) -> str:
    """Return a name without its middle if it is wider than `limit`.

    Long names of columns often differ only at their ends.
    """
    name = visible(name)
    if width(name) <= limit:
        return name
    after = limit // 2
    return _start(name, limit - 1 - after) + "…" + _start(name[::-1], after)[::-1]


def _start(text: str, room: int) -> str:
    end = 0
    while end < len(text) and (room := room - width(text[end])) >= 0:
        end += 1
    return text[:end]


def label(name: str, limit: int = 60) -> Html:
    """Return a name from the data as an element that can wrap inside a narrow column.

    It may break after punctuation such as `_`; the CSS breaks longer words if it has to.
    """
    short = shortened(name, limit)
    parts: list[str] = []
    for piece in _PIECES.findall(short):
        parts += [piece, el("wbr")]
    return el("span", parts[:-1], class_="name", title=name if short != visible(name) else None)


def data(name: str, content: Any) -> Html:
    """Return data for the script of the page; no value can close the element that holds it."""
    text = script_json(_visible(content))
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')


def _visible(content: Any) -> Any:
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, dict):
        return {key: _visible(value) for key, value in content.items()}
    return [_visible(value) for value in content] if isinstance(content, list) else content


# ---- numbers for readers -----------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with this many decimals and a true minus sign; `–` for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "\N{MINUS SIGN}∞"
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.removeprefix("-")
    return text.replace("-", "\N{MINUS SIGN}")


def brief(value: float | None, digits: int = 3) -> str:
    """Return a number with this many significant digits."""
    if value is None or not math.isfinite(value):
        return number(value)
    if abs(value) < 1e-12:  # left over by rounding
        return "0"
    if value != 0.0 and (abs(value) < 1e-4 or abs(value) >= 1e6):
        return f"{value:.{digits - 1}e}".replace("-", "\N{MINUS SIGN}")
    text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.{digits}f}\u202f%"


def chance(log_probability: float | None) -> str:
    """Return a probability, given by its logarithm, in words.

    Small ones read `1 in 380`, very small ones `less than 1 in 10¹⁷`.
    """
    if log_probability is None or math.isnan(log_probability):
        return "–"
    if log_probability == -math.inf:
        return "impossible"
    p = math.exp(log_probability)
    if p >= 0.05:
        return percent(p, 0)
    power = math.floor(-log_probability / math.log(10))
    if power >= 14:
        return f"less than 1 in 10{str(power).translate(_RAISED)}"
    return f"1 in {1 / p:,.0f}"


def exp(value: float) -> float:
    """Return e to this power; infinity if that overflows."""
    return math.exp(value) if value < 709.0 else math.inf

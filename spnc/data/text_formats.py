"""Numbers and dates that are written for people: `1,05`, `12%`, `$1,050`, `31/01/2020`, `08:30`.

The format of a column is found from all its texts, and kept for later data. It is assumed only if
every text with a digit has it; where two formats are possible, `doubt_about` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import numpy as np

from spnc.data.arrow_arrays import compute
from spnc.data.text_cells import NUMBER
from spnc.data.text_values import DATES, Meaning

_CURRENCY = r"[$€£¥₹₽₩]|US\$|USD|EUR|GBP|CHF|JPY"
_UNIT = rf"(?:{_CURRENCY}|[%‰°A-Za-zµμΩ²³/]{{1,8}})"
_WRITTEN = re.compile(
    rf"(?P<sign>[+-]?)(?P<prefix>{_CURRENCY})? ?(?P<inner>[+-]?)"
    rf"(?P<body>[0-9](?:[0-9.,' ]*[0-9])?|[.,][0-9]+) ?(?P<suffix>{_UNIT})?"
)
_TIME = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?[AaPp][Mm])?"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DATE_TEXTS = {
    "day-first": rf"^[0-9]{{1,2}}[-/.][0-9]{{1,2}}[-/.][0-9]{{4}}([ T,]+{_TIME})?$",
    "month-first": rf"^[0-9]{{1,2}}[-/.][0-9]{{1,2}}[-/.][0-9]{{4}}([ T,]+{_TIME})?$",
    "year-first": rf"^[0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}([ T,]+{_TIME})?$",
    "month-names": (
        r"^([A-Za-z]{3,9}\.?[ -]([0-9]{1,2},? )?|[0-9]{1,2}[ -][A-Za-z]{3,9}\.?,?[ -])[0-9]{4}"
        rf"([ T,]+{_TIME})?$"
    ),
    "minutes": rf"^{_TIME}$",
    "seconds": rf"^{_TIME}$",
}
_SHORT_YEAR = re.compile(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_SAMPLE = 64  # texts that show that a column has no format
ISO_ADVICE = "write dates as 2024-01-31"

DateOrder = Literal["day-first", "month-first", "year-first", "month-names", "minutes", "seconds"]


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the numbers of a column are written, and the sign or unit that all of them have."""

    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""

    @property
    def unit(self) -> str:
        """The sign or unit."""
        return self.prefix or self.suffix

    @property
    def meaning(self) -> Meaning:
        """What texts mean; plain numbers are accepted where they mean the same."""
        affixes = [f"({re.escape(text)})?" if text else "" for text in (self.prefix, self.suffix)]
        pattern = f"^[+-]?{affixes[0]} ?[+-]?{_body(self.decimal, self.thousands)} ?{affixes[1]}$"
        if self.thousands != ".":
            pattern = f"{pattern}|^(?i:{NUMBER})$"
        return Meaning(
            "numbers",
            lambda texts: compute.match_substring_regex(texts, pattern),
            lambda texts: [self._value(text) for text in texts],
        )

    def _value(self, text: str) -> float:
        for affix in (self.prefix, self.suffix):
            text = text.replace(affix, "") if affix else text
        text = text.replace(self.thousands, "") if self.thousands else text
        return float(text.replace(self.decimal, ".").replace(" ", ""))

    def __str__(self) -> str:
        """Return what is assumed, in words."""
        parts = []
        if self.thousands:
            named = {" ": "spaces", "'": "apostrophes", ",": "commas", ".": "points"}
            parts.append(f"{named[self.thousands]} between thousands")
        if self.decimal == ",":
            parts.append("a decimal comma")
        if self.unit:
            parts.append(f"the unit `{self.unit}`")
        return f"numbers with {' and '.join(parts)}"


@dataclass(frozen=True, slots=True)
class DateFormat:
    """The order of day, month and year; or `minutes` or `seconds` for times of day."""

    order: DateOrder

    @property
    def unit(self) -> str:
        """The unit of times of day."""
        units = {"minutes": "min since midnight", "seconds": "s since midnight"}
        return units.get(self.order, "")

    @property
    def meaning(self) -> Meaning:
        """What texts mean; dates in ISO 8601 are accepted in any case."""
        value: Callable[[str], float] = self._time if self.unit else self._date
        if self.unit:
            return Meaning(
                "numbers",
                lambda texts: compute.match_substring_regex(texts, _DATE_TEXTS[self.order]),
                lambda texts: [value(text) for text in texts],
            )
        own = re.compile(_DATE_TEXTS[self.order])

        def values(texts: list[str]) -> Sequence[float]:
            iso = [text for text in texts if not own.match(text)]
            known = dict(zip(iso, DATES.values(iso), strict=True))
            return [value(text) if text not in known else known[text] for text in texts]

        return Meaning(
            "dates",
            lambda texts: compute.or_(
                compute.match_substring_regex(texts, _DATE_TEXTS[self.order]), DATES.fits(texts)
            ),
            values,
        )

    def _date(self, text: str) -> float:
        day, month, year, time = self._parts(text)
        try:
            start = datetime(year, month, day, tzinfo=UTC).timestamp()
        except ValueError:
            return float("nan")
        return start + (_seconds_of_day(time) if time else 0.0)

    def _parts(self, text: str) -> tuple[int, int, int, str]:
        """Return day, month and year, and the time of day if there is one."""
        found = re.search(rf"[ T,]+({_TIME})$", text)
        time = found.group(1) if found else ""
        date = text[: found.start()] if found else text
        if self.order == "month-names":
            name = re.search(r"[A-Za-z]+", date)
            month = _month(name.group().lower()) if name else 0
            numbers = [int(n) for n in re.findall(r"[0-9]+", date)]
            day = numbers[0] if len(numbers) > 1 else 1
            return day, month, numbers[-1], time
        a, b, c = (int(n) for n in re.split(r"[-/.]", date))
        if self.order == "year-first":
            return c, b, a, time
        return (a, b, c, time) if self.order == "day-first" else (b, a, c, time)

    def _time(self, text: str) -> float:
        return _seconds_of_day(text) / (60.0 if self.order == "minutes" else 1.0)

    def __str__(self) -> str:
        """Return what is assumed, in words."""
        if self.unit:
            return f"times of day, in {self.order} since midnight"
        words = {
            "day-first": "dates with the day first",
            "month-first": "dates with the month first",
            "year-first": "dates with the year first",
            "month-names": "dates with names of months",
        }
        return words[self.order]


TextFormat = NumberFormat | DateFormat


def found_format(texts: Sequence[str], delimiter: str | None = None) -> TextFormat | None:
    """Return the format that all texts have, plain numbers and ISO dates apart; None without one.

    `delimiter` is that of the file: where it is a semicolon or a tab, numbers may have a decimal
    comma.
    """
    if not texts or not all(map(_may_have_one, texts[:_SAMPLE])):
        return None
    return _date_format(texts) or _number_format(texts, delimiter)


def _may_have_one(text: str) -> bool:
    patterns = _DATE_TEXTS.values()
    return _WRITTEN.fullmatch(text) is not None or any(re.match(p, text) for p in patterns)


def doubt_about(texts: Sequence[str]) -> tuple[str, str] | None:
    """Return what texts without a format look like, and advice; None if that is nothing known."""
    if all(re.match(_DATE_TEXTS["day-first"], text) for text in texts):
        return "dates whose day and month cannot be told apart", ISO_ADVICE
    if all(_SHORT_YEAR.fullmatch(text) for text in texts):
        return "dates with a year of two digits", ISO_ADVICE
    if all(_DECIMAL_COMMA.fullmatch(text) for text in texts):
        return "numbers with a decimal comma, or lists of numbers", "write decimals with a point"
    return None


def format_from_json(value: Any) -> TextFormat | None:
    """Return the format whose `asdict` was written; None for anything else."""
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        return None
    if set(value) == {"order"}:
        order = value["order"]
        return DateFormat(order) if order in get_args(DateOrder) else None
    known = asdict(NumberFormat())
    return NumberFormat(**value) if set(value) <= set(known) else None


# ---- dates -----------------------------------------------------------------------------------


def _date_format(texts: Sequence[str]) -> DateFormat | None:
    if all(re.match(_DATE_TEXTS["day-first"], text) for text in texts):
        pairs = [re.split(r"[-/.]", text)[:2] for text in texts]
        most = max(int(a) for a, _ in pairs), max(int(b) for _, b in pairs)
        orders: list[DateOrder] = []
        if most[0] > 12 >= most[1]:
            orders = ["day-first"]
        elif most[1] > 12 >= most[0]:
            orders = ["month-first"]
    elif all(re.match(_DATE_TEXTS["minutes"], text) for text in texts):
        orders = ["seconds" if any(text.count(":") > 1 for text in texts) else "minutes"]
    else:
        orders = ["year-first", "month-names"]
    for order in orders:
        if all(re.match(_DATE_TEXTS[order], text) for text in texts):
            found = DateFormat(order)
            if not np.isnan(found.meaning.values(list(texts))).any():
                return found
    return None


def _month(name: str) -> int:
    """Return the number of a month, whose name may be short; 0 for another word."""
    found = [i + 1 for i, month in enumerate(_MONTHS) if month.startswith(name)]
    return found[0] if len(found) == 1 and len(name) >= 3 else 0


def _seconds_of_day(text: str) -> float:
    """Return the seconds after midnight; NaN for a time that does not exist."""
    half = text[-2:].lower() if text[-1:].isalpha() else ""
    hour, minute, *rest = (float(n) for n in text.rstrip("AaPpMm ").split(":"))
    second = rest[0] if rest else 0.0
    if half and not 1 <= hour <= 12:
        return float("nan")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or second >= 60:
        return float("nan")
    return hour * 3600 + minute * 60 + second


# ---- numbers ---------------------------------------------------------------------------------


def _body(decimal: str, thousands: str) -> str:
    """Return the pattern of the digits of a number."""
    fraction = rf"({re.escape(decimal)}[0-9]+)"
    if not thousands:
        return f"([0-9]+{fraction}?|{fraction})"
    return rf"([1-9][0-9]{{0,2}}({re.escape(thousands)}[0-9]{{3}})+|[0-9]{{1,3}}){fraction}?"


def _number_format(texts: Sequence[str], delimiter: str | None) -> NumberFormat | None:
    found = [_WRITTEN.fullmatch(text) for text in texts]
    if not found or not all(m is not None and not (m["sign"] and m["inner"]) for m in found):
        return None
    matches = [m for m in found if m is not None]
    affixes = {(m["prefix"] or "", m["suffix"] or "") for m in matches}
    bodies = [m["body"] for m in matches]
    if len(affixes) > 1 or any(re.match("0[0-9]", body) for body in bodies):
        return None
    prefix, suffix = affixes.pop()
    if prefix and suffix:
        return None
    for decimal, thousands in _separators(bodies, delimiter):
        pattern = re.compile(_body(decimal, thousands))
        if all(pattern.fullmatch(body) for body in bodies):
            made = NumberFormat(decimal, thousands, prefix, suffix)
            return None if made == NumberFormat() else made
    return None


def _separators(bodies: Sequence[str], delimiter: str | None) -> list[tuple[str, str]]:
    """Return the signs for decimals and thousands that may be meant, the likeliest first."""
    signs = {sign for body in bodies for sign in body if not sign.isdigit()}
    if not signs or signs == {"."}:
        return [(".", "")]
    if signs == {","}:
        decimal = [(",", "")] if delimiter in (";", "\t") else []
        # Three digits behind every comma: decimals only where commas do not separate cells.
        return [*decimal, (".", ",")] if delimiter == ";" else [(".", ","), *decimal]
    for thousands in (" ", "'"):
        if thousands in signs:
            return [(".", thousands), (",", thousands)]
    return [(".", ","), (",", ".")]

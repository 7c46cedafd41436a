"""Types of columns, as circuits and model files write them.

A type is written in two forms: as plain values, which go into JSON, and as text of the circuit
language. Both hold everything but the column's name:

    {"kind": "categorical", "labels": ["black", "green"]}      categorical("black", "green")
    {"kind": "real", "scale": {"resolution": 0.1, …}}          real(resolution = 0.1, …)
"""

from __future__ import annotations

import json
import math
import numbers
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from spnc.common.limits import STATES_VARIABLE, most_states, raising
from spnc.common.wording import half_character
from spnc.data.columns import FINITE, KINDS, Column, Label, Scale
from spnc.data.dates import DATE_UNITS
from spnc.data.warp import Warp, warp_problems
from spnc.diagnostics import counted, did_you_mean, listed, nearest
from spnc.language.grammar import quoted_on_one_line

SCALE = tuple(f.name for f in fields(Scale))
WARP = tuple(f.name for f in fields(Warp))
_SHORT = re.compile(r"(\w+)(?:\s*\(\s*(\d{1,9})\s*\))?")
_TYPES = (
    'types are binary, categorical(k) with k of at least 2, categorical("a", "b", …), '
    "count, real and date"
)


def plain_type(column: Column) -> dict[str, Any]:
    """Return the column's type as plain values."""
    found: dict[str, Any] = {"kind": column.kind}
    if column.kind == "categorical" and column.labels is None:
        found["states"] = column.states
    if column.labels is not None:
        found["labels"] = list(column.labels)
    if column.scale is not None:
        found["scale"] = {name: float(value) for name, value in asdict(column.scale).items()}
    if column.unit:
        found["unit"] = column.unit
    if column.warp is not None:
        warp = column.warp
        found["warp"] = {"values": list(warp.values), "places": list(warp.places)}
    return found


def short_type(column: Column) -> str | dict[str, Any]:
    """Return the type as a short text if that says everything, else as plain values."""
    return (
        str(column)
        if column == Column(column.name, column.kind, column.states)
        else (plain_type(column))
    )


def type_text(column: Column) -> str:
    """Return the column's type as the circuit language writes it."""
    if column.labels is not None:
        options = [_label_text(label) for label in column.labels]
    elif column.kind == "categorical":
        options = [str(column.states)]
    else:
        given = {} if column.scale is None else asdict(column.scale)
        options = [f"{name} = {float(value)!r}" for name, value in given.items()]
    options += [f"unit = {quoted_on_one_line(column.unit)}"] if column.unit else []
    options += [f'warp = "{_warp_text(column.warp)}"'] if column.warp is not None else []
    return f"{column.kind}({', '.join(options)})" if options else column.kind


def plain_of_options(
    kind: str, values: Sequence[Label], named: Mapping[str, Label]
) -> dict[str, Any]:
    """Return as plain values what the language writes in brackets: `kind(values, name = …)`."""
    found: dict[str, Any] = {"kind": kind}
    if kind == "categorical" and len(values) == 1 and not isinstance(values[0], str):
        found["states"] = values[0]
    elif values:
        found["labels"] = list(values)
    scale = {key: value for key, value in named.items() if key in SCALE}
    found |= {key: value for key, value in named.items() if key not in SCALE}
    if isinstance(found.get("warp"), str):
        found["warp"] = _plain_warp(found["warp"])
    return found | ({"scale": scale} if scale else {})


def plain_of_text(text: str) -> dict[str, Any]:
    """Return as plain values what a short text says: a kind, or `categorical(3)`."""
    match = _SHORT.fullmatch(text.strip())
    if match is None:
        return {"kind": text.strip()}
    return {"kind": match[1]} if match[2] is None else {"kind": match[1], "states": int(match[2])}


def column_of(name: str, plain: Mapping[str, Any]) -> tuple[Column | None, list[str]]:
    """Return the column with a type given as plain values; None, and all problems, if wrong."""
    problems = [*_half_characters(name, plain), *_problems(plain)]
    if problems:
        return None, problems
    kind = plain["kind"]
    labels = tuple(plain["labels"]) if plain.get("labels") is not None else None
    states = 0
    if kind in FINITE:
        states = len(labels) if labels is not None else plain.get("states", 2)
    given = plain.get("scale")
    scale = None if given is None else Scale(**{key: float(x) for key, x in given.items()})
    unit = plain.get("unit", DATE_UNITS[0] if kind == "date" else "")
    knots = plain.get("warp")
    warp = None
    if knots is not None:
        warp = Warp(*(tuple(float(x) for x in knots[key]) for key in WARP))
    return Column(name, kind, states, labels, scale, unit, warp), []


def hint(plain: Mapping[str, Any]) -> str:
    """Return what may have been meant by a type that is wrong."""
    kind = str(plain.get("kind", "")).split("(")[0]
    if kind in KINDS and kind not in FINITE:
        return f"options of a {kind} column are {', '.join(SCALE)} and unit"
    near = nearest(kind, KINDS)
    if near is None or near == kind:
        return _TYPES
    return f"did you mean `{'categorical(3)' if near == 'categorical' else near}`?"


def _problems(plain: Mapping[str, Any]) -> Iterator[str]:
    kind = plain.get("kind")
    if kind is None:
        yield "the kind is missing"
        return
    if kind not in KINDS:
        yield f"`{kind}` is not a kind of column"
        return
    allowed = {"kind", "unit"} | ({"states", "labels"} if kind in FINITE else {"scale"})
    if kind in ("real", "date"):
        allowed.add("warp")
    for key in plain:
        if key == "labels" and key not in allowed:
            yield f"a {kind} column has no labels"
        elif key not in allowed:
            known = allowed - {"kind"} if kind in FINITE else {*SCALE, *allowed} - {"kind", "scale"}
            yield f"`{key}` does not belong to a {kind} column; {did_you_mean(str(key), known)}"
    if kind in FINITE:
        yield from _state_problems(kind, plain)
    else:
        yield from _scale_problems(plain.get("scale"))
        yield from _warp_problems(plain.get("warp"))
    yield from _unit_problems(kind, plain.get("unit"))


def _half_characters(name: str, plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield texts that are not valid Unicode, so that no table could be written with them."""
    labels = plain.get("labels")
    for what, text in (
        ("the name", name),
        ("the unit", plain.get("unit")),
        *(("a label", label) for label in (labels if isinstance(labels, list | tuple) else ())),
    ):
        half = half_character(text) if isinstance(text, str) else None
        if half is not None:
            yield f"{what} holds {half}, which is half of a character"


def _state_problems(kind: str, plain: Mapping[str, Any]) -> Iterator[str]:
    states, labels = plain.get("states"), plain.get("labels")
    if states is not None and not (
        isinstance(states, int) and not isinstance(states, bool) and states >= 2
    ):
        yield f"{shown_plain(states)} is not a number of states"
        return
    if states is not None and states > most_states():
        how = raising(STATES_VARIABLE, states)
        yield f"{states:,} states are more than {most_states():,}; {how}"
        return
    if labels is None:
        if kind == "categorical" and states is None:
            yield "the number of states or the labels are missing"
        elif kind == "binary" and states not in (None, 2):
            yield f"a binary column has 2 states, not {states}"
        return
    if not isinstance(labels, list | tuple):
        yield "the labels are not a list"
        return
    bad = [label for label in labels if not _is_label(label)]
    if bad:
        what = "labels are texts, finite numbers, true or false"
        yield f"{shown_plain(bad[0])} is not a label: {what}"
        return
    often = Counter(labels)
    if len(often) < len(labels):
        yield f"the label {_label_text(often.most_common(1)[0][0])} is given twice"
    wanted = 2 if kind == "binary" else states
    if wanted is not None and len(labels) != wanted:
        yield f"{counted(len(labels), 'label')} for {wanted} states"
    elif len(labels) < 2:
        yield f"a {kind} column has at least 2 states"


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _scale_problems(scale: Any) -> Iterator[str]:
    if scale is None:
        return
    if not isinstance(scale, Mapping):
        yield "the scale is not a mapping"
        return
    good = {}
    for key, value in scale.items():
        if key not in SCALE:
            yield f"`{key}` is not part of a scale; {did_you_mean(str(key), SCALE)}"
        elif not _is_finite(value):
            yield f"{key} = {shown_plain(value)} is not a finite number"
        else:
            good[key] = float(value)
    for key in ("resolution", "sd"):
        if not good.get(key, 1.0) > 0.0:
            yield f"{key} = {good[key]:g} is not above 0"
    if good.get("log_sd", 1.0) < 0.0:
        yield f"log_sd = {good['log_sd']:g} is below 0"
    whole = Scale(**good)
    if whole.low > whole.high:
        yield f"low = {whole.low:g} is above high = {whole.high:g}"


def _warp_problems(warp: Any) -> Iterator[str]:
    if warp is None:
        return
    if not isinstance(warp, Mapping) or set(warp) != set(WARP):
        yield "a warp has two lists of numbers, `values` and `places`"
        return
    yield from warp_problems(warp["values"], warp["places"])


def _warp_text(warp: Warp) -> str:
    """Return the knots of a warp as `value: place, …`."""
    pairs = zip(warp.values, warp.places, strict=True)
    return ", ".join(f"{value!r}: {place!r}" for value, place in pairs)


def _plain_warp(text: str) -> dict[str, Any] | str:
    """Return the knots that a text lists; the text itself if it is not such a list."""
    try:
        pairs = [[float(x) for x in knot.split(":")] for knot in text.split(",")]
        values, places = zip(*pairs, strict=True)
    except ValueError:
        return text
    return {"values": list(values), "places": list(places)}


def _is_finite(value: Any) -> bool:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of more than 300 digits
        return False


def _unit_problems(kind: str, unit: Any) -> Iterator[str]:
    if unit is None:
        return
    if not isinstance(unit, str):
        yield f"the unit {shown_plain(unit)} is not a text"
    elif kind == "date" and unit not in DATE_UNITS:
        yield f"a date is not counted in `{unit}`, but in {listed(DATE_UNITS)}"


def shown_plain(value: Any) -> str:
    """Return a value as messages show it: as JSON, if it can be written so."""
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError):  # keys that are not texts, or a mapping inside itself
        return str(value)


def _label_text(label: Label) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return quoted_on_one_line(label) if isinstance(label, str) else repr(label)

"""Columns as a spec declares them, and the labels and units that follow."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import replace

from spnc.data.column_kinds import Verdict, settled
from spnc.data.column_values import values_of
from spnc.data.columns import Column, Label
from spnc.data.dates import DATE_UNITS, date_unit
from spnc.data.options import ColumnRule, DataOptions
from spnc.data.raw_table import RawColumn
from spnc.data.table_rules import OTHER, Unseen
from spnc.data.text_formats import DateFormat, TextFormat, found_format
from spnc.data.text_values import converted, date_meaning
from spnc.diagnostics import Sink, did_you_mean

_GLOB = frozenset("*?[")


def rules_by_name(names: Sequence[str], options: DataOptions, sink: Sink) -> dict[str, ColumnRule]:
    """Return the rule of each column that has one; report rules that match no column (E320).

    A name comes before all patterns, and a pattern before those after it.
    """
    found: dict[str, ColumnRule] = {}
    exact = [rule for rule in options.columns if rule.name in set(names)]
    for rule in [*exact, *(r for r in options.columns if r not in exact)]:
        matches = [rule.name] if rule in exact else fnmatch.filter(names, rule.name)
        if not matches:
            pattern = bool(_GLOB & set(rule.name))
            what = "no column matches" if pattern else "there is no column"
            help = did_you_mean(rule.name.strip("*"), names)
            sink.error("E320", f"{what} `{rule.name}`", rule.span_of(""), help=help)
        for name in matches:
            found.setdefault(name, rule)
    return found


def is_declared(rule: ColumnRule | None) -> bool:
    """Whether a rule, if there is one, says what a column is."""
    return rule is not None and (rule.kind != "auto" or rule.labels is not None)


def judge_declared(
    parts: Sequence[RawColumn], rule: ColumnRule, delimiter: str | None = None
) -> Verdict:
    """Return a column of the kind that the spec gives; values that contradict come out later."""
    parts = list(parts)
    if rule.kind == "ignore":
        return Verdict(None, parts)
    if rule.has_labels:
        parts = settled(parts, exact=True)
        labels = rule.labels or values_of(parts)
        if rule.kind == "binary":
            labels = labels[:2]  # others are reported as values that do not fit
        if not labels:
            labels = (0, 1)
        elif len(labels) == 1:
            labels = (0, 1) if labels[0] in (0, 1) else (*labels, OTHER)
        return Verdict("binary" if len(labels) == 2 else "categorical", parts, labels)
    assert rule.kind in ("count", "real", "date")
    format = _format_of(parts, rule, delimiter)
    if format is not None:
        made = [converted(p, format.meaning)[0] if p.kind == "texts" else p for p in parts]
        return Verdict(rule.kind, made, format=format)
    if rule.kind == "date":
        parts = [_dated(p) for p in parts]
    return Verdict(rule.kind, parts)


def _format_of(
    parts: Sequence[RawColumn], rule: ColumnRule, delimiter: str | None
) -> TextFormat | None:
    """Return the format of the texts of a declared column, if it is one of that kind."""
    texts = [text for p in parts if p.kind == "texts" for text in p.text_list()]
    format = found_format(texts, delimiter)
    is_date = isinstance(format, DateFormat) and not format.unit
    return format if is_date == (rule.kind == "date") else None


def _dated(part: RawColumn) -> RawColumn:
    """Return texts as the dates or numbers that they are, if all of them are."""
    if part.kind != "texts":
        return part
    found, bad = converted(part, date_meaning(part))
    return part if bad.any() else found


def column_of(name: str, verdict: Verdict, rule: ColumnRule | None, unit: str = "") -> Column:
    """Return the column of a verdict.

    The spec's unit goes before that of the source, `unit`, and this before that of the texts.
    """
    kind = verdict.kind
    assert kind is not None
    if verdict.format is not None:
        unit = unit or verdict.format.unit
    if rule is not None and rule.unit:
        unit = rule.unit
    if kind in ("binary", "categorical"):
        labels = verdict.labels
        return Column(name, kind, len(labels), _unless_plain(labels), None, unit)
    if kind == "date" and unit not in DATE_UNITS:
        unit = date_unit(verdict.parts)
    return Column(name, kind, 0, None, None, unit)


def labelled(column: Column, unseen: Unseen) -> Column:
    """Return the column with a state for categories that are seen only later, if asked for."""
    if not column.is_finite or unseen != "other":
        return column
    labels: tuple[Label, ...] = column.labels or tuple(range(column.states))
    if OTHER in labels:
        return column
    labels = (*labels, OTHER)
    return replace(column, kind="categorical", states=len(labels), labels=labels)


def _unless_plain(labels: tuple[Label, ...]) -> tuple[Label, ...] | None:
    """Return the labels, or None for whole numbers from 0 on, which stand for themselves."""
    plain = all(type(label) is int for label in labels) and labels == tuple(range(len(labels)))
    return None if plain else labels

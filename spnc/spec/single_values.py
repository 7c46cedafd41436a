"""Single values of options: words, numbers, truth values and labels, or why they are none."""

from __future__ import annotations

import math
import typing
from typing import Any, Final

from spnc.common.quantities import (
    MOST_BYTES,
    MOST_SECONDS,
    SIZES,
    TIMES,
    Bytes,
    Seconds,
    bytes_in,
    seconds_in,
)
from spnc.data.columns import Label
from spnc.diagnostics import Sink, Span, nearest
from spnc.registry import Rule
from spnc.spec.numbers import is_of_other_base
from spnc.spec.tree import Mapping, Scalar, Tree, describe, short


class _Failed:
    """Marks a value that was reported as wrong."""


FAILED: Final = _Failed()


def single_value(kind: Any, rule: Rule, tree: Tree, sink: Sink) -> Any:
    """A value of the annotated type, or FAILED after reporting."""
    if not isinstance(tree, Scalar):
        return wrong_type(_expected(kind), tree, sink)
    if kind == Label:
        # YAML reads `yes` and `no` as truth values; as labels they are words.
        word = isinstance(tree.value, bool) and tree.text.lower() not in ("true", "false")
        return tree.text if tree.quoted or word or tree.value is None else tree.value
    if typing.get_origin(kind) is typing.Literal:
        known = typing.get_args(kind)
        text = tree.text
        if isinstance(tree.value, bool) and "yes" in known:
            text = "yes" if tree.value else "no"  # YAML reads these words as truth values
        if text in known:
            return text
        sink.error(
            "E108",
            f"`{tree.text}` is not one of {', '.join(known)}",
            tree.span,
            help=f"did you mean `{near}`?" if (near := nearest(tree.text, known)) else None,
        )
        return FAILED
    value = tree.value
    if kind is Seconds or kind is Bytes:
        return _amount(kind, tree, sink)
    if kind is str:
        if value is None or len(tree.text.splitlines()) > 1:
            return wrong_type("a text in one line", tree, sink)
        return tree.text
    if kind is bool:
        return value if isinstance(value, bool) else wrong_type("true or false", tree, sink)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return wrong_type(_expected(kind), tree, sink)
    if kind is int:
        if isinstance(value, float) and not value.is_integer():
            return wrong_type("a whole number", tree, sink)
        value = int(value)
    else:
        value = _float(value)
    wanted = rule.violation(value) if math.isfinite(_float(value)) else "a finite number"
    if wanted is not None:
        number = short(tree.text)
        sink.error("E107", f"{number} is out of range: it has to be {wanted}", tree.span)
        return FAILED
    return value


def _amount(kind: Any, tree: Scalar, sink: Sink) -> Any:
    """A time or an amount of memory, above 0 and within reason."""
    is_time = kind is Seconds
    found = None
    if not isinstance(tree.value, bool):
        found = seconds_in(tree.text) if is_time else bytes_in(tree.text)
    if found is None:
        expected = "a time" if is_time else "an amount of memory"
        return wrong_type(expected, tree, sink, f"write it as {TIMES if is_time else SIZES}")
    most: float = MOST_SECONDS if is_time else MOST_BYTES
    if 0 < found <= most:
        return found
    wanted = "above 0" if found <= 0 else "at most 1000 hours" if is_time else "at most 1000000 TB"
    sink.error("E107", f"{short(tree.text)} is out of range: it has to be {wanted}", tree.span)
    return FAILED


def wrong_type(expected: str, tree: Tree, sink: Sink, help: str | None = None) -> _Failed:
    """Report that something else was expected (E106)."""
    message = f"expected {expected}, found {describe(tree)}"
    if help is None and isinstance(tree, Scalar) and "number" in expected:
        help = _plain_number(tree)
    sink.error("E106", message, _first_line(tree), help=help)
    return FAILED


def _plain_number(tree: Scalar) -> str | None:
    """Return how to write a number that YAML 1.1 reads in another base."""
    if tree.quoted or not is_of_other_base(tree.text):
        return None
    if ":" in tree.text:
        return "numbers of base 60 are not read; write it in digits only, without colons"
    return f"a leading zero would make it a number of base 8; write {tree.text.replace('0', '', 1)}"


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 300 digits
        return math.inf if value > 0 else -math.inf


def _expected(kind: Any) -> str:
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}.get(
        kind, "a single value"
    )


def _first_line(tree: Tree) -> Span:
    return tree.head.span if isinstance(tree, Mapping) and tree.head is not None else tree.span

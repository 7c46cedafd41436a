"""Bound questions: columns by number, values as sets. They are what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spnc.queries.events import ALWAYS, Event

StatisticName = Literal["E", "SD", "Var", "median", "quantile"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known: an event, and the columns whose cells a row of a table gives (`*`)."""

    event: Event = ALWAYS
    cells: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Probability:
    """The probability of an event, for each combination of states of the columns `by`."""

    text: str
    event: Event
    by: tuple[int, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Statistic:
    """Mean, standard deviation, variance, median or quantile (of a share) of a column."""

    text: str
    name: StatisticName
    column: int
    share: float
    by: tuple[int, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Density:
    """The density of a column, or the probabilities of its values."""

    text: str
    column: int
    by: tuple[int, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class MostLikely:
    """The most probable values of some columns together."""

    text: str
    columns: tuple[int, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows drawn from some columns together."""

    text: str
    rows: int
    columns: tuple[int, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Entropy:
    """The entropy of some columns together, in expectation over the columns `given`."""

    text: str
    columns: tuple[int, ...]
    given: tuple[int, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Information:
    """The mutual information of two groups of columns, in expectation over the columns `given`."""

    text: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    given: tuple[int, ...]
    evidence: Evidence


Question = Probability | Statistic | Density | MostLikely | Sample | Entropy | Information


def groups_of(question: Question) -> tuple[int, ...]:
    """Return the columns `by` which a question is asked."""
    return question.by if isinstance(question, Probability | Statistic | Density) else ()


def is_one_number(question: Question) -> bool:
    """Whether the answer to a question is one number, not a table, rows or a curve."""
    numbers = isinstance(question, Probability | Statistic | Entropy | Information)
    return numbers and not groups_of(question)


def has_picture(question: Question) -> bool:
    """Whether the answer to a question can be drawn: a curve, or a table of groups."""
    return isinstance(question, Density) or bool(groups_of(question))

"""Answers against enumeration, in the words of the language."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.diagnostics import InputError
from spnc.model import Model
from spnc.queries.events import All, Any, Event, Not, Within
from spnc.questions.answers import IMPOSSIBLE, Answer
from tests.places import ROOT
from tests.unit.queries.discrete import Enumerated, enumerated, random_event


def text_of(event: Event, model: Model) -> str:
    """An event as a question writes it."""
    match event:
        case Within(column, values):
            states = ", ".join(map(str, values.states()))
            return f"{model.columns[column].name} in {{{states}}}"
        case Not(part):
            return f"not ({text_of(part, model)})"
        case All(parts):
            return f"({' and '.join(text_of(part, model) for part in parts)})"
        case Any(parts):
            return f"({' or '.join(text_of(part, model) for part in parts)})"


def holds(event: Event, row: np.ndarray) -> bool:
    match event:
        case Within(column, values):
            return float(row[column]) in values
        case Not(part):
            return not holds(part, row)
        case All(parts):
            return all(holds(part, row) for part in parts)
        case Any(parts):
            return any(holds(part, row) for part in parts)


def asked(model: Model, text: str, seed: int = 0) -> Answer:
    found = model.query(text, seed)
    assert isinstance(found, Answer)
    return found


def case(seed: int) -> tuple[Enumerated, Model, Event, Event]:
    known = enumerated(seed)
    rng = np.random.default_rng(seed)
    events = [random_event(known.program, rng) for _ in range(2)]
    return known, Model("random", known.program, known.parameters), events[0], events[1]


def mass(known: Enumerated, *events: Event) -> float:
    inside = [all(holds(event, row) for event in events) for row in known.rows]
    return float(known.chances[np.array(inside)].sum())


@given(st.integers(0, 10_000))
def test_a_probability_is_a_ratio_of_sums_over_rows(seed: int) -> None:
    known, model, event, evidence = case(seed)
    found = asked(model, f"P({text_of(event, model)} | {text_of(evidence, model)})")
    total = mass(known, evidence)
    assert found.value is not None
    if total == 0.0:
        assert math.isnan(found.value)
        assert found.notes == (IMPOSSIBLE,)
        return
    assert found.value == pytest.approx(mass(known, event, evidence) / total, abs=1e-9)
    assert found.log_value is not None
    assert math.exp(found.log_value) == pytest.approx(found.value)


@given(st.integers(0, 10_000))
def test_a_table_has_a_row_for_each_state(seed: int) -> None:
    known, model, event, evidence = case(seed)
    name = model.columns[0].name
    text = f"P({text_of(event, model)} by {name} | {text_of(evidence, model)})"
    found = asked(model, text).table
    total = mass(known, evidence)
    if total == 0.0:
        assert found is None
        return
    assert found is not None
    assert float(found.chances.sum()) == pytest.approx(1.0)
    for state, value, chance in zip(range(len(found)), found.values, found.chances, strict=True):
        group = Within(0, found_state(model, state))
        own = mass(known, evidence, group)
        assert chance == pytest.approx(own / total, abs=1e-9)
        if own == 0.0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(mass(known, event, evidence, group) / own, abs=1e-9)


def found_state(model: Model, state: int):
    from spnc.queries.value_sets import ValueSet

    return ValueSet.codes(model.columns[0], [state])


@given(st.integers(0, 10_000))
def test_statistics_of_states_are_those_of_their_numbers(seed: int) -> None:
    known, model, _, evidence = case(seed)
    name, total = model.columns[1].name, mass(known, evidence)
    if total == 0.0:
        return
    inside = np.array([holds(evidence, row) for row in known.rows])
    chances, numbers = known.chances[inside] / total, known.rows[inside, 1]
    mean = float(chances @ numbers)
    given_text = text_of(evidence, model)
    assert asked(model, f"E[{name} | {given_text}]").value == pytest.approx(mean, abs=1e-9)
    variance = float(chances @ (numbers - mean) ** 2)
    assert asked(model, f"Var[{name} | {given_text}]").value == pytest.approx(variance, abs=1e-9)
    sd = asked(model, f"SD[{name} | {given_text}]").value
    assert sd == pytest.approx(math.sqrt(variance), abs=1e-6)
    median = asked(model, f"median[{name} | {given_text}]").value
    assert median is not None
    assert chances[numbers <= median].sum() >= 0.5 - 1e-9
    assert chances[numbers < median].sum() <= 0.5 + 1e-9


@pytest.fixture(scope="module")
def penguins() -> Model:
    return spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn")


def test_one_question_has_one_answer_and_several_have_a_list(penguins: Model) -> None:
    assert isinstance(penguins.query("E[age]"), Answer)
    several = penguins.query("E[age]; H[sex]")
    assert isinstance(several, list)
    assert [a.question for a in several] == ["E[age]", "H[sex]"]


def test_mistakes_are_raised_together(penguins: Model) -> None:
    with pytest.raises(InputError) as error:
        penguins.query("E[agge]; H[sexx]", seed=-1)
    assert [d.code for d in error.value.diagnostics] == ["E803", "E803", "E505"]


def test_the_seed_says_which_rows_are_drawn(penguins: Model) -> None:
    rows = [asked(penguins, "sample 5 of body_mass, sex", seed).rows for seed in (1, 1, 2)]
    first, same, other = (np.asarray(r) for r in rows)
    assert first.shape == (5, 2)
    assert (first == same).all()
    assert (first != other).any()


def test_a_density_adds_up_to_nearly_one(penguins: Model) -> None:
    curve = asked(penguins, "density of body_mass by species").curve
    assert curve is not None
    areas = curve.densities.sum(axis=1) * np.diff(curve.values).mean()
    assert areas == pytest.approx(1.0, abs=5e-3)


def test_impossible_groups_have_no_value(penguins: Model) -> None:
    found = asked(penguins, "E[body_mass by species | species != Gentoo]")
    assert found.table is not None
    assert np.isnan(found.table.values).tolist() == [False, False, True]
    assert found.table.chances[2] == 0.0
    assert found.to_json()["table"][2] == {"species": "Gentoo", "value": None, "probability": 0.0}


EVERY_KIND = (
    "P(sex = male)",
    "P(sex = male | species = Adelie, species = Gentoo)",
    "P(species = Gentoo | species = Adelie)",
    "P(sex = male by species)",
    "E[seen_on]",
    "SD[seen_on by sex]",
    "E[body_mass by species | species = Adelie]",
    "density of seen_on",
    "density of body_mass by species | species = Adelie",
    "density of species",
    "most likely",
    "sample 2 of seen_on, ringed",
    "H[sex | species]",
    "MI[body_mass; bill_length]",
)


@pytest.mark.parametrize("text", EVERY_KIND)
def test_every_answer_has_a_text_a_view_json_and_a_frame(text: str, penguins: Model) -> None:
    found = asked(penguins, text)
    assert repr(found).startswith(text)
    assert text.split(" ")[0] in found._repr_html_()
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert plain["question"] == text
    frame = found.to_pandas()
    assert len(frame) >= 1
    if found.table is not None:
        assert len(frame) == len(found.table)
    if found.value is None:
        with pytest.raises(TypeError, match="is not one number"):
            float(found)
    else:
        assert float(found) == found.value or math.isnan(found.value)

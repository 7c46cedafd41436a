"""The kind of a column: one rule, and the four mistakes that must never be silent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.column_kinds import FEW, MOST_CODES, MOST_LABELS
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.resolution import resolution_of
from spnc.data.scales import scale_of
from spnc.diagnostics import Sink


def loaded(data: object) -> tuple[Dataset, list[str]]:
    """The dataset of a file or a table in Python, and the codes of what was reported."""
    sink = Sink()
    source = data if isinstance(data, str) else raw_from_python(data, sink)
    assert source is not None
    dataset = load_table(source, sink)
    assert dataset is not None, sink.diagnostics
    return dataset, [d.code for d in sink.diagnostics]


def column(cells: object, name: str = "x") -> tuple[Column | None, list[str]]:
    """The column that is made of these cells, None if it is left out, and what was reported."""
    rows = len(cells)  # type: ignore[arg-type]
    beside = np.arange(rows) % 2
    dataset, codes = loaded({name: cells, "beside": beside})
    found = {c.name: c for c in dataset.columns}
    assert (name in found) != (name in dataset.left_out)
    return found.get(name), codes


rng = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("cells", "kind", "labels"),
    [
        ([True, False, True], "binary", (False, True)),
        ([True, None, True], "binary", (False, True)),
        ([0, 1, 1, 0], "binary", None),
        ([0, 0, 0], "binary", None),
        ([1, 1, 1], "binary", None),
        ([123, 124, 123], "binary", (123, 124)),
        ([0.5, 1.5, 0.5], "binary", (0.5, 1.5)),
        (["no", "yes", "no"], "binary", ("no", "yes")),
        (["true", "False", "TRUE"], "binary", (False, True)),
        ([0, 1, 2, 1], "categorical", None),
        ([3.0, 4.0, 5.0, np.nan], "categorical", (3, 4, 5)),
        ([-1, 0, 1], "categorical", (-1, 0, 1)),
        (["b", "a", None, "c"], "categorical", ("a", "b", "c")),
        (["10", "9", "8"], "categorical", ("10", "8", "9")),
        (np.arange(320) % 32, "categorical", None),
        (rng.integers(0, 90, 500), "count", None),
        (rng.integers(-90, 90, 500), "real", None),
        (rng.normal(size=50), "real", None),
        ([f"2024-01-{d:02}" for d in range(1, 29)], "date", None),
        ([f"2024-01-{d:02}T12:30:00" for d in range(1, 29)], "date", None),
    ],
)
def test_the_rule(cells: object, kind: str, labels: tuple[object, ...] | None) -> None:
    found, _ = column(cells)
    assert found is not None
    assert found.kind == kind
    assert found.labels == labels
    assert [type(v) for v in found.labels or ()] == [type(v) for v in labels or ()]
    if kind in ("count", "real", "date"):
        assert found.states == 0
    else:
        assert found.states == len(labels or {*range(2), *np.unique(cells)})
    assert (found.scale is None) == found.is_finite
    assert found.unit == ("" if kind != "date" else "seconds" if "T" in str(cells) else "days")


def test_whole_numbers_are_categories_as_long_as_there_are_few() -> None:
    for rows, limit in ((20, FEW), (100, 10), (1000, MOST_CODES)):
        few, _ = column(np.arange(rows) % limit * 3)
        many, _ = column(np.arange(rows) % (limit + 1) * 3)
        assert few is not None
        assert many is not None
        assert (few.kind, many.kind) == ("categorical", "count")


@pytest.mark.parametrize(
    ("cells", "name", "code"),
    [
        (np.arange(40), "x", "W306"),  # an enumeration, whatever its name
        (np.arange(1, 41)[::-1], "x", "W306"),
        (rng.permutation(1000)[:40], "customer_id", "W306"),
        ([f"person {i}" for i in range(40)], "x", "W306"),
        ([f"{i % 300}-{i % 300}" for i in range(900)], "x", "W307"),
        ([None] * 40, "x", "W302"),
        (["same"] * 40, "x", "W301"),
        ([[1, 2]] * 40, "x", "W308"),
    ],
)
def test_what_cannot_be_learned_is_left_out_and_told(cells: object, name: str, code: str) -> None:
    found, codes = column(cells, name)
    assert found is None
    assert codes == [code]


def test_numbers_that_are_no_ids_are_kept() -> None:
    for cells, kind in ((np.arange(1900, 1940), "real"), (rng.permutation(10**6)[:40], "count")):
        found, codes = column(cells)
        assert found is not None
        assert found.kind == kind
        assert codes == []


def test_counts_begin_near_zero_and_other_whole_numbers_are_real() -> None:
    for low, high, kind in ((0, 200, "count"), (17, 90, "count"), (2700, 6300, "real")):
        found, _ = column(rng.integers(low, high, 500))
        assert found is not None
        assert found.kind == kind


def test_warnings_about_columns_that_are_kept() -> None:
    codes = np.repeat([1011, 2020, 3085, 9711, 4711, 8123] * 6, 12)
    assert column(codes + np.repeat(np.arange(36), 12) * 1000)[1] == ["W311"]
    assert column([None] * 97 + [1, 0, 2])[1] == ["W310"]
    words = rng.choice(["a", "b", "c"], 60)
    numbers = np.array([{"a": 4, "b": 9, "c": 5}[w] for w in words])
    dataset, told = loaded({"word": words, "number": numbers, "other": rng.integers(0, 2, 60)})
    assert len(dataset.columns) == 3
    assert told == ["W312"]


def test_too_many_texts_are_modelled_up_to_the_limit() -> None:
    kept, _ = column([f"w{i % MOST_LABELS}" for i in range(4 * MOST_LABELS)])
    assert kept is not None
    assert kept.states == MOST_LABELS


# ---- the four silent mistakes ----------------------------------------------------------------


def test_a_header_of_numbers_is_warned_of(tmp_path: Path) -> None:
    rows = "".join(",".join(map(str, row)) + "\n" for row in rng.integers(0, 2, (30, 5)).tolist())
    path = tmp_path / "a.csv"
    for head, codes in (("0,1,2,3,4\n", ["W305"]), ("0,1,0,0,1\n", []), ("", [])):
        path.write_text(head + rows)
        assert loaded(str(path))[1] == codes
    path.write_text("2019,2020,2021,2022,2023\n" + rows)
    assert loaded(str(path))[1] == ["W305"]


def test_codes_with_gaps_have_no_states_that_do_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("code,rain\n123,0\n124,1\n123,1\n")
    dataset, _ = loaded(str(path))
    assert dataset.columns[0] == Column("code", "binary", 2, (123, 124))
    np.testing.assert_array_equal(dataset.splits["all"].column(0), [0, 1, 0])


def test_an_id_column_is_not_a_hundred_categories(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,rain\n" + "".join(f"{i},{i % 3 // 2}\n" for i in range(100)))
    dataset, codes = loaded(str(path))
    assert [c.name for c in dataset.columns] == ["rain"]
    assert dict(dataset.left_out) == {"id": "id"}
    assert codes == ["W306"]


# The fourth, columns of a frame in another order, is in test_frames.py.

# ---- resolution and scale --------------------------------------------------------------------


@given(
    st.sampled_from([1.0, 2.0, 2.5, 5.0]),
    st.integers(-6, 6),
    st.lists(st.integers(-(10**5), 10**5), min_size=1, max_size=30),
)
def test_the_resolution_is_the_grid_of_the_values(
    step: float, power: int, multiples: list[int]
) -> None:
    """All values are multiples of it, and it is at least as large as the step they are made of."""
    unit = float(f"{step}e{power}")
    values = np.array([float(f"{m * step!r}e{power}") for m in multiples])
    found = resolution_of(values)
    if (values == 0).all():
        assert found == 1.0
        return
    assert found >= unit * (1 - 1e-9)
    ratio = values / found
    np.testing.assert_allclose(ratio, np.rint(ratio), atol=1e-5)


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ([36.6, 37.1, 38.0], "", 0.1),
        ([3750.0, 3800.0, 3725.0], "", 25.0),
        ([0.25, 0.75, 1.5], "", 0.25),
        ([1e9 + 0.5, 1e9 + 1.0], "", 0.5),
        ([0.0, 0.0], "", 1.0),
        ([0.0, 7.0, 21.0], "days", 7.0),
        ([19_000.0, 19_003.0], "days", 1.0),
        ([3600.0, 5400.0], "seconds", 1800.0),
        ([np.pi, np.e, np.sqrt(2)], "", np.pi - np.e),  # on no grid: the smallest gap
        (
            [k / 7.7 - 4.3 / 7.7 for k in range(9)] + [(k - 4.3) / 7.7 for k in range(9)],
            "",
            1 / 7.7,
        ),
        ([1e-300, 3e-300], "", 1e-150),
    ],
)
def test_resolutions_of_ordinary_columns(values: list[float], unit: str, expected: float) -> None:
    assert resolution_of(np.array(values), unit) == pytest.approx(expected)


def test_the_resolution_of_a_million_values_is_found() -> None:
    assert resolution_of(np.round(rng.normal(50, 10, 1_000_000), 3)) == 0.001


def test_many_values_show_a_resolution_of_thirteen_digits_and_a_few_do_not() -> None:
    values = np.round(rng.normal(1e7, 10, 1000), 5)
    assert resolution_of(values) == 1e-5
    assert resolution_of(values[:3]) == pytest.approx(np.diff(np.sort(values[:3])).min())


def test_scales_keep_their_digits_far_from_zero_and_never_collapse() -> None:
    values = 1e9 + rng.normal(0, 1, 1000)
    scale = scale_of(values, np.ones(1000))
    assert scale.sd == pytest.approx(np.std(values - 1e9), rel=1e-6)
    constant = scale_of(np.full(5, 0.25), np.ones(5))
    assert constant.sd == constant.resolution > 0
    assert constant.log_sd > 0


def test_a_weight_counts_like_so_many_equal_rows() -> None:
    values, weights = np.array([1.0, 2.0, 4.0, np.nan]), np.array([3.0, 1.0, 2.0, 5.0])
    heavy = scale_of(values, weights)
    repeated = scale_of(np.repeat(values, weights.astype(int)), np.ones(11))
    assert heavy.mean == pytest.approx(repeated.mean)
    assert heavy.sd == pytest.approx(repeated.sd)
    assert heavy.log_sd == pytest.approx(repeated.log_sd)

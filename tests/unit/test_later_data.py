"""Later data is read as the training data was: every way to the same rows gives the same score."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import spnc
from spnc.api import Trained
from spnc.cli import main
from spnc.data import pieces
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import InputError, Sink

ROWS = 240
Frame = dict[str, list[Any]]
RNG = np.random.default_rng(16)


class Case(NamedTuple):
    """A table that is easily read in two ways, and what the spec says about it."""

    frame: Frame
    data: Mapping[str, Any] = MappingProxyType({})


def real() -> list[Any]:
    return RNG.normal(size=ROWS).round(2).tolist()


def some(*values: Any) -> list[Any]:
    return [values[i] for i in RNG.integers(0, len(values), ROWS)]


def with_some(cells: list[Any], other: Any, every: int) -> list[Any]:
    return [other if i % every == every - 1 else cell for i, cell in enumerate(cells)]


def texts(cells: list[Any]) -> list[str]:
    return [str(cell) for cell in cells]


CASES = {
    "numbers that mark missing cells": Case(
        {"a": with_some(real(), -999.0, 4), "b": real()}, {"missing": ["", "-999"]}
    ),
    "words that mark missing cells": Case(
        {"a": with_some(texts(real()), "gone", 4), "b": some("x", "gone", "y")},
        {"missing": ["gone"]},
    ),
    "a mark that is a code of another column": Case(
        {"a": with_some(real(), 1.0, 4), "b": some("x", "y", "z")}, {"missing": ["", "1"]}
    ),
    "odd texts among numbers": Case({"a": with_some(texts(real()), "unknown", 40), "b": real()}),
    "odd texts among dates": Case(
        {"a": with_some([f"2024-{1 + i % 12:02}-01" for i in range(ROWS)], "12", 40), "b": real()}
    ),
    "odd texts among codes": Case(
        {
            "a": with_some(
                [None if i % 4 else str(i // 4 % 20) for i in range(ROWS)], "unknown", 48
            ),
            "b": real(),
        }
    ),
    "codes with leading zeros": Case({"a": some("01", "02", "1", "A1"), "b": real()}),
    "categories that may be unseen": Case(
        {"a": some(1, 2, 3), "b": some("x", "y"), "c": real()},
        {"unseen": "other", "columns": {"a": "categorical"}},
    ),
    "years": Case(
        {"a": with_some(some(*range(1990, 2020)), None, 9), "b": real()}, {"columns": {"a": "date"}}
    ),
    "years in one piece of the file, marks in the other": Case(
        {"a": [1990 + i % 30 if i < ROWS // 2 else 0 for i in range(ROWS)], "b": real()},
        {"columns": {"a": "date"}, "missing": ["0"]},
    ),
    "days since 1970": Case({"a": some(*range(900, 20_000, 77))}, {"columns": {"a": "date"}}),
    "seconds since 1970": Case(
        {"a": some(*range(1_700_000_000, 1_710_000_000, 60_000))}, {"columns": {"a": "date"}}
    ),
    "milliseconds since 1970": Case(
        {"a": some(*range(1_700_000_000_000, 1_700_000_900_000, 5250))}, {"columns": {"a": "date"}}
    ),
    "times with zones": Case(
        {"a": [f"2024-01-{1 + i % 28:02}T00:00:00+0{i % 2}:00" for i in range(ROWS)], "b": real()}
    ),
    "row weights": Case({"a": some("x", "y"), "n": some(1, 2, 5), "b": real()}, {"weight": "n"}),
    "columns that are left out": Case(
        {"id": list(range(ROWS)), "a": some("01", "x"), "none": [None] * ROWS, "b": real()}
    ),
    "truth values": Case({"a": some(True, False, None), "b": texts(some(True, False))}),
    "numbers of many digits": Case({"a": some(2**53 + 1, 2**53 + 2, 2**60 + 1), "b": real()}),
}


def as_csv(frame: Frame, header: bool = True) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    if header:
        writer.writerow(frame)
    mark = {None: "NA", True: "true", False: "false"}
    for row in zip(*frame.values(), strict=True):
        writer.writerow([mark[c] if c is None or isinstance(c, bool) else c for c in row])
    return stream.getvalue().encode()


def trained(source: str, data: Mapping[str, Any]) -> Trained:
    spec = {
        "model": "later",
        "data": {"source": source, **data},
        "forest": [{"learner": "hclt", "states": 2}],
        "optimizer": {"method": "em", "max_iterations": 2},
    }
    return spnc.train(spec)


def score(found: Trained) -> float:
    return float(found.metrics["splits"]["train"]["avg_ll"])


def evaluated_from_stdin(
    content: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> float:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["eval", "model.spnc", "-", "--json", "--quiet"]) == 0
    return float(json.loads(capsys.readouterr().out)["splits"]["all"]["avg_ll"])


@pytest.mark.parametrize("name", CASES)
def test_every_way_to_the_training_rows_gives_the_training_score(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, data = CASES[name]
    content = as_csv(frame)
    turned = dict(reversed(frame.items()))
    table = pa.table(turned)
    Path("rows.csv").write_bytes(content)
    Path("rows.csv.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile("rows.zip", "w") as archive:
        archive.writestr("rows.csv", content)
    Path("turned.csv").write_bytes(as_csv(turned))
    Path("quoted.csv").write_bytes(content.replace(b"\n", b"\n\n"))  # for the exact reader
    Path("nameless.csv").write_bytes(as_csv(frame, header=False))
    pa.parquet.write_table(table, "rows.parquet")
    pa.feather.write_feather(table, "rows.arrow")
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))

    found = trained("rows.csv", data)
    wanted = pytest.approx(score(found), abs=1e-9)
    found.model.save("model.spnc")
    model = spnc.load("model.spnc")

    weights = np.asarray(frame.get(data.get("weight", ""), [1.0] * ROWS), dtype=np.float64)
    for given in (frame, turned, table, pa.table(frame).to_pandas()):
        rows = model.log_likelihood(given)
        assert np.average(rows, weights=weights) == wanted
        assert model.evaluate(given)["all"].average == wanted
    for file in sorted(tmp_path.glob("*.*")):
        if file.suffix != ".spnc":
            assert model.evaluate(file.name)["all"].average == wanted, file.name
    whole = load_table("rows.csv", Sink(), columns=model.columns, rules=model.rules)
    assert whole is not None
    assert model.evaluate("rows.csv")["all"].average == wanted
    for file in ("rows.csv", "rows.csv.gz", "rows.zip", "quoted.csv", "rows.parquet"):
        assert evaluated_from_stdin(Path(file).read_bytes(), monkeypatch, capsys) == wanted, file
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500)
    assert model.evaluate("rows.csv")["all"].average == wanted

    again = trained("rows.parquet", data)  # other columns come first, so that the model is another
    for file in ("rows.csv", "rows.parquet"):
        average = again.model.evaluate(file)["all"].average
        assert average == pytest.approx(score(again), abs=1e-9), file


@pytest.mark.parametrize("name", CASES)
def test_samples_have_the_same_score_as_arrays_and_as_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample is read again by the rules of the model that drew it."""
    monkeypatch.chdir(tmp_path)
    frame, data = CASES[name]
    Path("rows.csv").write_bytes(as_csv(frame))
    model = trained("rows.csv", data).model
    rows = model.sample(100)
    wanted = model.log_likelihood(rows)
    if name != "numbers of many digits":  # which no array of doubles holds
        np.testing.assert_allclose(model.log_likelihood(np.asarray(rows)), wanted, atol=1e-9)
    Path("sample.csv").write_text("".join(",".join(line) + "\n" for line in rows.lines()))
    rounded = model.log_likelihood(rows.to_dict())
    np.testing.assert_allclose(model.log_likelihood(rows.to_pandas()), rounded, atol=1e-9)
    average = model.evaluate("sample.csv")["all"].average
    assert average == pytest.approx(rounded.mean(), abs=1e-9)


def test_a_file_without_a_header_is_read_without_one_later(tmp_path: Path) -> None:
    """`header: no` of a spec holds for later files, unless their first line names the columns."""
    path = tmp_path / "words.csv"
    path.write_bytes(as_csv({"a": some("x", "y", "z"), "b": some("p", "q")}, header=False))
    found = trained(str(path), {"header": "no"})
    assert found.model.evaluate(path)["all"].average == pytest.approx(score(found), abs=1e-9)
    later = tmp_path / "later.csv"
    later.write_text("x,p\ny,q\n")
    assert found.model.evaluate(later)["all"].possible == 2
    later.write_text("x1,x0\np,x\nq,y\n")
    assert found.model.evaluate(later)["all"].possible == 2


def test_odd_texts_are_warned_of_in_later_data_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, data = CASES["odd texts among numbers"]
    Path("rows.csv").write_bytes(as_csv(frame))
    trained("rows.csv", data).model.save("model.spnc")
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500)
    for source in ("rows.csv", "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_csv(frame))))
        assert main(["eval", "model.spnc", source, "--quiet"]) == 0
        error = capsys.readouterr().err
        assert error.count("W309") == 1
        assert "column `a` holds numbers, apart from 6 cells: `unknown`" in error


def test_a_column_without_odd_texts_in_training_has_none_later(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(as_csv({"a": real(), "b": real()}))
    model = trained(str(path), {}).model
    with pytest.raises(InputError, match="which is not a number"):
        model.log_likelihood({"a": ["1.5", "unknown"], "b": [1.0, 2.0]})


def test_codes_keep_their_zeros_and_digits_if_only_one_split_has_a_word(tmp_path: Path) -> None:
    """Files are read one after the other, and a column is one of texts in all or in none."""
    codes = ["01", "1", "1234567890123", "1234567890124"]
    train, valid = tmp_path / "train.csv", tmp_path / "valid.csv"
    train.write_bytes(as_csv({"a": some(*codes), "b": real()}))
    valid.write_bytes(as_csv({"a": some(*codes, "A1"), "b": real()}))
    spec = {
        "model": "codes",
        "data": {"train": str(train), "valid": str(valid)},
        "forest": [{"learner": "hclt", "states": 2}],
    }
    found = spnc.train(spec)
    assert found.model.columns[0].labels == ("01", "1", "1234567890123", "1234567890124", "A1")
    for split, path in (("train", train), ("valid", valid)):
        average = found.model.evaluate(path)["all"].average
        assert average == pytest.approx(found.metrics["splits"][split]["avg_ll"], abs=1e-9)


def test_numbers_beside_words_stay_different_texts() -> None:
    tables = {"a": [1234567890123, 1234567890124, 0.1, 0.10000000000000002, "x"] * 4}
    found = load_table_of(tables)
    assert found.columns[0].labels is not None
    assert len(found.columns[0].labels) == 5


def load_table_of(frame: Frame) -> Any:
    sink = Sink()
    raw = raw_from_python(frame, sink)
    assert raw is not None
    dataset = load_table(raw, sink)
    assert dataset is not None
    return dataset


def test_rules_of_a_model_survive_its_file_and_old_files_have_defaults() -> None:
    rules = TableRules(("a", "b"), "b", "other", "no", ("", "-9"), ("a",))
    assert TableRules.from_json(json.loads(json.dumps(rules.as_json()))) == rules
    assert TableRules().as_json() == {}
    old = {"names": ["a"], "weight": "a", "unseen": "missing"}
    assert TableRules.from_json(old) == TableRules(("a",), "a", "missing")
    assert TableRules.from_json({"missing": [1], "header": "maybe", "odd": "a"}) == TableRules()

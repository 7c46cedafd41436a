"""NPY and NPZ files: shapes, types and names of arrays, and that nothing is unpickled."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spnc.data.load import load_table
from spnc.diagnostics import Sink

TABLE = np.array([[0, 1, 2], [1, 0, 0]])


def codes(path: Path) -> list[str]:
    sink = Sink()
    assert (load_table(str(path), sink) is None) == sink.failed
    return [d.code for d in sink.diagnostics if d.severity == "error"]


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", ">i4", "f2", "f4", "f8", "longdouble"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_of_number_is_read(tmp_path: Path, dtype: str, order: Any) -> None:
    np.save(tmp_path / "a.npy", np.array(TABLE > 0, dtype=dtype, order=order))
    dataset = load_table(str(tmp_path / "a.npy"), Sink())
    assert dataset is not None
    values = dataset.splits["all"].values
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, TABLE > 0)


def test_the_largest_numbers_of_the_other_byte_order_are_read(tmp_path: Path) -> None:
    # Whole numbers beyond 63 bits were recognised by their type in this machine's byte order.
    table = np.array([[2**64 - 1, 0], [2**64 - 2, 1], [2**64 - 1, 1]], dtype=">u8")
    np.save(tmp_path / "a.npy", table)
    dataset = load_table(str(tmp_path / "a.npy"), Sink())
    assert dataset is not None
    assert dataset.columns[0].labels == (2**64 - 2, 2**64 - 1)
    np.testing.assert_array_equal(dataset.in_memory("all").values, [[1, 0], [0, 1], [1, 1]])


def test_arrays_named_train_valid_test_are_splits(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", test=TABLE[:1], train=TABLE)
    dataset = load_table(str(tmp_path / "a.npz"), Sink())
    assert dataset is not None
    assert list(dataset.splits) == ["train", "test"]
    assert dataset.train.rows == 2


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3),
        np.zeros((2, 2, 2)),
        np.zeros((3, 0)),
        np.array(1),
        np.array([["a", "b"]]),
        np.array([[1j]]),
        np.array([[None]], dtype=object),
        np.zeros((2, 2), dtype=[("a", int)]),
        np.zeros((2, 2), dtype="M8[s]"),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_an_array_that_is_no_table_of_numbers_is_reported(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", train=TABLE, test=array)
    assert codes(tmp_path / "a.npy") == ["E311"]
    assert codes(tmp_path / "a.npz") == ["E311"]


def test_the_problems_of_every_array_are_told(tmp_path: Path) -> None:
    infinite = np.where(TABLE == 2, np.inf, TABLE)
    np.savez(tmp_path / "a.npz", train=np.zeros(3), valid=infinite, test=np.zeros((0, 3)))
    assert codes(tmp_path / "a.npz") == ["E311", "E306", "E316"]


def test_a_bad_value_is_reported_with_its_array_and_its_row_counted_from_one(
    tmp_path: Path,
) -> None:
    bad = np.array([[0, 0, 0], [0, np.inf, 0], [0, -np.inf, 0]])
    np.savez(tmp_path / "a.npz", train=TABLE, test=bad)
    sink = Sink()
    load_table(str(tmp_path / "a.npz"), sink)
    (problem,) = sink.diagnostics
    assert problem.code == "E316"
    assert problem.message.endswith("in row 2 of array `test`")
    assert problem.notes == ("and 1 more such cell in this column",)


@pytest.mark.parametrize("names", [("a", "b"), ("valid", "test"), ("train", "extra"), ()])
def test_other_names_of_arrays_are_reported(tmp_path: Path, names: tuple[str, ...]) -> None:
    np.savez(tmp_path / "a.npz", **dict.fromkeys(names, TABLE))
    assert codes(tmp_path / "a.npz") == ["E311"]


def test_damaged_files_are_reported(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, TABLE)
    whole = stream.getvalue()
    path = tmp_path / "a.npy"
    for content in (whole[:-4], whole[:9], whole.replace(b"shape", b"shade"), b"0,1\n"):
        path.write_bytes(content)
        assert codes(path) == ["E315"]
    path.write_bytes(whole.replace(b"(2, 3)", b"(1" + b"0" * 17 + b", 3)"))
    assert codes(path) == ["E315"]
    path.write_bytes(b"")
    assert codes(path) == ["E305"]
    (tmp_path / "a.npz").write_bytes(whole)
    assert codes(tmp_path / "a.npz") == ["E315"]
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("train.npy", b"not an array")
    assert codes(tmp_path / "b.npz") == ["E315"]


class Bomb:
    """An object that would run a program when unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a data file was unpickled",))


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[Bomb()]], dtype=object), allow_pickle=True)
    assert codes(tmp_path / "a.npy") == ["E311"]
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb()))
    assert codes(tmp_path / "b.npy") == ["E315"]
    np.savez(tmp_path / "c.npz", np.array([[Bomb()]], dtype=object))
    assert codes(tmp_path / "c.npz") == ["E311"]

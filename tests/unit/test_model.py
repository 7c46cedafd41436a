"""Model files: the same bytes for the same model, nothing executed, clear words when broken."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as save_tensors

import spnc
from spnc.common.sealed import sealed_arrays
from spnc.data.columns import Column
from spnc.graph.nodes import Builder
from spnc.leaves.categorical import Categorical
from spnc.leaves.leaf_columns import LeafColumns
from spnc.model import Model, to_bytes
from spnc.program.lower import lower
from spnc.program.model_file import FORMAT
from spnc.program.program import LeafTable, Parameters, Program, Segment
from spnc.program.validity import program_problems
from tests.circuits import random_circuit, random_rows

RECORDS = Path(__file__).parents[1] / "records" / "models"


def model_of(seed: int) -> Model:
    program, parameters = lower(random_circuit(seed, variables=6, depth=5))
    return Model("some", program, parameters, {"recipe": "none"})


@given(seed=st.integers(0, 10**6))
def test_a_saved_model_comes_back_the_same(tmp_path_factory, seed: int) -> None:
    path = tmp_path_factory.mktemp("models") / "model.spnc"
    model = model_of(seed)
    model.save(path)
    again = spnc.load(path)
    assert to_bytes(again) == path.read_bytes()
    rows = random_rows(seed, model.columns, 20, 0.2)
    assert (again.log_likelihood(rows) == model.log_likelihood(rows)).all()
    assert again.columns == model.columns
    assert again.provenance == model.provenance


def test_a_model_of_version_1_still_loads_and_says_the_same() -> None:
    record = json.loads((RECORDS / "version-1.json").read_text())
    model = spnc.load(RECORDS / "version-1.spnc")
    assert [str(c) for c in model.columns] == [
        "categorical(4)", "categorical(3)", "binary", "categorical(3)", "binary"
    ]  # fmt: skip
    rows = np.array(record["rows"], dtype=float)
    assert model.log_likelihood(rows) == pytest.approx(record["log_likelihoods"], abs=1e-12)


def test_a_model_of_version_1_that_is_saved_again_has_version_2(tmp_path: Path) -> None:
    spnc.load(RECORDS / "version-1.spnc").save(tmp_path / "model.spnc")
    assert b'\\"version\\": 2' in (tmp_path / "model.spnc").read_bytes()
    again, old = spnc.load(tmp_path / "model.spnc"), spnc.load(RECORDS / "version-1.spnc")
    rows = random_rows(1, old.columns, 50, 0.2)
    assert (again.log_likelihood(rows) == old.log_likelihood(rows)).all()


LABELS = st.lists(
    st.text(max_size=5) | st.integers() | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False),
    min_size=2, max_size=6, unique=True,
).map(tuple)  # fmt: skip


@given(labels=LABELS)
def test_labels_of_any_type_come_back_from_a_file(tmp_path_factory, labels: tuple) -> None:
    path = tmp_path_factory.mktemp("models") / "model.spnc"
    builder = Builder([Column("tea", "categorical", len(labels), labels)])
    builder.leaf(0, Categorical((1.0 / len(labels),) * len(labels)))
    Model("labels", *lower(builder.graph)).save(path)
    (column,) = spnc.load(path).columns
    assert column.labels == labels
    assert list(map(type, column.labels or ())) == list(map(type, labels))


def test_a_file_with_any_other_byte_anywhere_is_refused(tmp_path: Path) -> None:
    content = to_bytes(model_of(2))
    path = tmp_path / "model.spnc"
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(content[:8], "little")
    places = [*range(40), *rng.integers(40, header, 150), *rng.integers(header, len(content), 150)]
    for at in map(int, places):
        flipped = content[at] ^ (1 << int(rng.integers(8)))
        path.write_bytes(content[:at] + bytes([flipped]) + content[at + 1 :])
        assert refused(path) in {"E501", "E502", "E503", "E504", "E507"}, at


def test_numbers_that_were_changed_are_refused_although_they_fit(tmp_path: Path) -> None:
    path = tmp_path / "model.spnc"
    model = model_of(2)
    model.save(path)
    content = path.read_bytes()
    table = next(t for t in model.parameters.tables if t.shape[1] == 1)
    old, new = float(table[0, 0]), 0.123456789
    path.write_bytes(content.replace(np.float64(old).tobytes(), np.float64(new).tobytes()))
    assert refused(path) == "E507"


def test_a_version_that_was_changed_does_not_avoid_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "model.spnc"
    path.write_bytes(to_bytes(model_of(2)).replace(b'version\\": 2', b'version\\": 1'))
    assert refused(path) == "E507"


def test_reading_a_small_file_needs_little_memory(tmp_path: Path) -> None:
    """Sizes that a file merely claims are not allocated."""
    import tracemalloc

    def claim(about, tensors) -> None:
        about["columns"][0] = {"name": "x", "kind": "categorical", "states": 10**9}
        about["layers"] = 10**12

    path = tampered(tmp_path, claim)
    refused(path)  # imports what reading needs
    tracemalloc.start()
    assert refused(path) == "E504"
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def refused(path: Path) -> str:
    with pytest.raises(spnc.InputError) as caught:
        spnc.load(path)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code


def test_files_that_are_not_models_are_refused_with_a_reason(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing.spnc") == "E114"
    path = tmp_path / "model.spnc"
    for content in (b"", b"PK\x03\x04", b"\x80\x04\x95pickle", b"\xff" * 100):
        path.write_bytes(content)
        assert refused(path) == "E501"
    path.write_bytes(save_tensors({"x": np.zeros(3)}))
    assert refused(path) == "E502"


def why_refused(path: Path) -> str:
    with pytest.raises(spnc.InputError, match="E114") as caught:
        spnc.load(path)
    return str(caught.value)


def test_a_folder_is_refused_with_the_model_that_is_in_it(tmp_path: Path) -> None:
    assert "it is a folder" in why_refused(tmp_path)
    assert "RUN/model.spnc" in why_refused(tmp_path)
    model_of(1).save(tmp_path / "model.spnc")
    assert f"did you mean `{tmp_path / 'model.spnc'}`?" in why_refused(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.spnc")
    assert "not a regular file" in why_refused(tmp_path / "model.spnc")


def test_a_model_that_may_not_be_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.spnc"
    model_of(1).save(path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything
        monkeypatch.setattr(Path, "open", refuse)
    assert "cannot read" in why_refused(path)
    assert "Permission denied" in why_refused(path)


@pytest.mark.parametrize("keep", [0.2, 0.7, 0.99])
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "model.spnc"
    content = to_bytes(model_of(1))
    path.write_bytes(content[: int(len(content) * keep)])
    assert refused(path) == "E501"


def tampered(tmp_path: Path, change) -> Path:
    from safetensors import safe_open

    path = tmp_path / "model.spnc"
    model_of(2).save(path)
    with safe_open(str(path), framework="numpy") as file:
        about = json.loads(file.metadata()["spnc-model"])
        tensors = {n: file.get_tensor(n).copy() for n in file.keys()}  # noqa: SIM118
    change(about, tensors)
    del about["sha256"]
    path.write_bytes(sealed_arrays(FORMAT, about, tensors))
    return path


@pytest.mark.parametrize("version", [99, 0, 2.0, "2", True, None, [2]])
def test_a_model_of_another_format_version_is_refused(tmp_path: Path, version: object) -> None:
    assert refused(tampered(tmp_path, lambda a, t: a.update(version=version))) == "E503"


@pytest.mark.parametrize("array", ["weights", "children", "leaves.0.parameters"])
@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E8M0", "BF16", "F4", "C64"])
def test_numbers_of_a_type_that_numpy_lacks_are_refused(
    tmp_path: Path, array: str, kind: str
) -> None:
    path = tmp_path / "model.spnc"
    content = to_bytes(model_of(2))
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header[array]["dtype"] = kind
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(spnc.InputError, match=f"`{array}` holds numbers of type {kind}") as caught:
        spnc.load(path)
    assert caught.value.diagnostics[0].code == "E504"


def break_child(about, tensors) -> None:
    tensors["children"][0] = 10**6


def break_loop(about, tensors) -> None:
    tensors["children"][0] = int(tensors["segments"][0][1])


def break_weight(about, tensors) -> None:
    tensors["weights"][0] = 2.0


def overflowing_weights(about, tensors) -> None:
    tensors["weights"][:] = 1.7e308


def overflowing_leaf(about, tensors) -> None:
    for name in tensors:
        if name.endswith(".parameters"):
            tensors[name][:] = 1.7e308


def break_layers(about, tensors) -> None:
    about["layers"] += 1


def break_leaf(about, tensors) -> None:
    tensors["leaves.0.parameters"][0] = -1.0


def break_variable(about, tensors) -> None:
    tensors["leaves.0.variables"][0] = 99


def break_root(about, tensors) -> None:
    about["root"] = -5


def lose_array(about, tensors) -> None:
    del tensors["starts"]


def lose_key(about, tensors) -> None:
    del about["columns"]


def float_children(about, tensors) -> None:
    tensors["children"] = tensors["children"].astype(np.float64)


def float32_weights(about, tensors) -> None:
    tensors["weights"] = tensors["weights"].astype(np.float32)


def overlapping(about, tensors) -> None:
    tensors["leaves.0.variables"][:] = tensors["leaves.0.variables"][0]


def same_names(about, tensors) -> None:
    about["columns"][1]["name"] = about["columns"][0]["name"]


def other_root(about, tensors) -> None:
    about["root"] = 0


def unknown_kind(about, tensors) -> None:
    about["columns"][0]["kind"] = "complex"


def too_few_labels(about, tensors) -> None:
    about["columns"][0] |= {"kind": "categorical", "states": 3, "labels": ["a", "b"]}


def scale_of_categories(about, tensors) -> None:
    about["columns"][0]["scale"] = {"resolution": 1.0}


def a_number_instead(about, tensors) -> None:
    about["columns"][0] = {"name": about["columns"][0]["name"], "kind": "real"}


def unknown_leaf(about, tensors) -> None:
    about["leaves"][0][0] = "os.system"


@pytest.mark.parametrize(
    "change",
    [
        break_child,
        break_loop,
        break_weight,
        overflowing_weights,
        overflowing_leaf,
        break_layers,
        break_leaf,
        break_variable,
        break_root,
        lose_array,
        lose_key,
        float_children,
        float32_weights,
        overlapping,
        same_names,
        other_root,
        unknown_kind,
        too_few_labels,
        scale_of_categories,
        a_number_instead,
    ],
    ids=lambda f: f.__name__,
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path: Path, change) -> None:
    assert refused(tampered(tmp_path, change)) == "E504"


def test_leaves_that_nobody_provides_are_named(tmp_path: Path) -> None:
    assert refused(tampered(tmp_path, unknown_leaf)) == "E141"


def test_a_child_named_twice_and_a_node_outside_the_circuit_are_problems() -> None:
    variables = np.zeros(2, dtype=np.int64)
    leaves = LeafTable("bernoulli", 1, 0, variables, LeafColumns.of([Column("x")], variables))
    parameters = Parameters(np.array([0.5, 0.5]), (np.full((2, 1), 0.5),))

    def problems(children: list[int]) -> list[str]:
        segment = Segment(True, 2, 3, np.array([0, 2]), np.array(children), 0)
        program = Program((Column("x"),), (leaves,), (segment,), 2, 2)
        return list(program_problems(program, parameters))

    assert problems([0, 1]) == []
    assert problems([0, 0]) == ["a node has the same child twice", "a node is not below the root"]


def test_values_that_a_column_cannot_have_are_refused_by_name() -> None:
    model = spnc.compile("specs/quickstart.yaml", ["forest.0.count=1"])
    with pytest.raises(spnc.InputError) as caught:
        model.log_likelihood(np.full((1, 64), 0.5))
    assert len(caught.value.diagnostics) == 21  # the last one counts the others
    assert "44 more" in str(caught.value)
    assert "pixel_0_0" in str(caught.value)
    with pytest.raises(spnc.InputError, match="64 columns"):
        model.log_likelihood(np.zeros((3, 5)))


def test_one_row_may_be_given_without_its_brackets() -> None:
    model = model_of(3)
    row = np.zeros(6)
    assert model.log_likelihood(row).shape == (1,)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    from spnc.common import atomic

    path = tmp_path / "file.txt"
    atomic.write_text(path, "old")
    monkeypatch.setattr(Path, "replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        atomic.write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_what_is_not_a_number_is_refused_in_words() -> None:
    model = model_of(3)
    with pytest.raises(spnc.InputError, match="`x0` holds `a` in row 1"):
        model.log_likelihood([["a"] * 6])
    with pytest.raises(spnc.InputError, match="`x5` holds inf"):
        model.log_likelihood(np.full((1, 6), np.inf))

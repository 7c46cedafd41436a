"""Whatever a file holds, `spnc check` says that it is fine or what is wrong: never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

import spnc
from spnc.cli import main
from spnc.common.sealed import sealed_arrays
from spnc.model import to_bytes
from spnc.program.model_file import FORMAT

HERE = Path(__file__).parent
QUICK = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TEXTS = {
    path.name: path.read_bytes()
    for path in sorted(
        [
            *HERE.glob("good/specs/*"),
            *HERE.glob("good/circuits/*"),
            *HERE.parent.parent.glob("specs/search.*"),
        ]
    )
    if path.suffix in (".yaml", ".spn", ".json")
}
# What bytes alone seldom hit upon: ends of lines, signs, quotes, absurd numbers and words.
SCRAPS = [
    *(c.encode() for c in "(){}[]<>:;,.=+-*/~#&!?|@%\"'\\ \t\r\n\0xX_0é天\u2028\ufeff"),
    *(b"null", b"true", b"NaN", b"-1", b"1e999", b"9" * 400, b"9" * 5000, b"0x10", b"1_000"),
    *(b"!!int ''", b"!!bool x", b"!!float ''", b"!!set", b"&a", b"*a", b"<<: *a", b"? [a]", b"---"),
    *(b"[" * 300, b"(" * 300, b"{" * 300, b"- " * 300, b"\\ud800", b"\xff", b"\xf0\x9f"),
    *(b"circuit", b"root", b"variables", b"model", b"forest", b"learner: circuit", b"1/0 a"),
]


def outcome(name: str, content: bytes, folder: Path) -> tuple[int, str]:
    """The exit code of `spnc check` on a file with this content, and all that it printed.

    What is called fine can also be inspected.
    """
    for part in ("data", "circuits"):  # what the good specs refer to
        link = folder / part
        if not link.exists():
            link.symlink_to(HERE / "good" / part)
    (folder / "file").mkdir(exist_ok=True)
    path = folder / "file" / name
    path.write_bytes(content)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(["check", str(path)])
        if code == 0:
            code = main(["inspect", str(path)])
    return code, printed.getvalue()


def assert_no_traceback(name: str, content: bytes, folder: Path) -> None:
    code, printed = outcome(name, content, folder)
    assert code in (0, 1), printed
    assert "Traceback" not in printed
    assert (code == 1) == ("error[E" in printed)
    printed.encode("utf-8", errors="strict")


@st.composite
def mutations(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with a few bytes, lines and scraps changed, lost, doubled or moved."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        kind = draw(st.sampled_from(["scrap", "replace", "delete", "cut", "line", "byte"]))
        if kind == "scrap":
            content = content[:at] + draw(st.sampled_from(SCRAPS)) + content[at:]
        elif kind == "replace":
            stop = at + draw(st.integers(1, 12))
            content = content[:at] + draw(st.sampled_from(SCRAPS)) + content[stop:]
        elif kind == "delete":
            content = content[:at] + content[at + draw(st.integers(1, 30)) :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "byte":
            content = content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]
        else:
            lines = content.split(b"\n")
            line = lines.pop(draw(st.integers(0, len(lines) - 1)))
            for _ in range(draw(st.integers(0, 2))):
                lines.insert(draw(st.integers(0, len(lines))), line)
            content = b"\n".join(lines)
    return content


@QUICK
@given(st.data())
def test_a_mutated_text_is_fine_or_reported(tmp_path: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(TEXTS)))
    assert_no_traceback(name, data.draw(mutations(TEXTS[name])), tmp_path)


@pytest.fixture(scope="module")
def model() -> bytes:
    return to_bytes(spnc.compile(HERE / "good/circuits/categorical.spn"))


@QUICK
@given(st.data())
def test_a_mutated_model_is_fine_or_reported(
    tmp_path: Path, model: bytes, data: st.DataObject
) -> None:
    assert_no_traceback("model.spnc", data.draw(mutations(model)), tmp_path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**63, 10**400, 0.5, float("nan"), float("inf"), "", "a", "leaf", "0.5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every path to a part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from places(inner, (*path, key))


def replaced(value: object, path: tuple[object, ...], new: object) -> object:
    """The value with another part at the path."""
    if not path:
        return new
    if isinstance(value, dict):
        return {k: replaced(v, path[1:], new) if k == path[0] else v for k, v in value.items()}
    assert isinstance(value, list)
    return [replaced(v, path[1:], new) if i == path[0] else v for i, v in enumerate(value)]


def with_other_part(text: bytes, data: st.DataObject) -> bytes:
    value = json.loads(text)
    path = data.draw(st.sampled_from(list(places(value))))
    return json.dumps(replaced(value, path, data.draw(JSON))).encode()


@QUICK
@given(st.data())
def test_json_with_another_value_anywhere_is_fine_or_reported(
    tmp_path: Path, data: st.DataObject
) -> None:
    content = with_other_part(TEXTS["node-link.json"], data)
    assert_no_traceback("circuit.json", content, tmp_path)


@QUICK
@given(st.data())
def test_a_model_with_another_description_is_fine_or_reported(
    tmp_path: Path, model: bytes, data: st.DataObject
) -> None:
    length = int.from_bytes(model[:8], "little")
    header = json.loads(model[8 : 8 + length])
    about = json.loads(with_other_part(header["__metadata__"][FORMAT].encode(), data))
    if isinstance(about, dict):
        about.pop("sha256", None)
        content = sealed_arrays(FORMAT, about, load(model))
    else:
        content = save(load(model), metadata={FORMAT: json.dumps(about)})
    assert_no_traceback("model.spnc", content, tmp_path)

"""The page of a model is well formed, safe against any names, and holds the same numbers."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.data.columns import Column
from spnc.diagnostics import InputError
from spnc.explore import circuit_data as encoding
from spnc.explore.circuit_data import circuit_data
from spnc.explore.page import page
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.program.lower import lower
from tests.asking import every_leaf
from tests.circuits import random_circuit
from tests.pages import Element, read_page

EVIL = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "a\u202eb", "`'\"")


def evil_model() -> spnc.Model:
    """Names and labels that would like to be markup, or to turn the line round."""
    builder = Builder(
        [Column(name, "categorical", 4, labels=(*EVIL[:3], "</style>")) for name in EVIL]
    )
    leaf = Categorical((0.1, 0.2, 0.3, 0.4))
    builder.product([builder.leaf(i, leaf) for i in range(len(EVIL))])
    return spnc.Model("</title><script>alert(3)</script>", *lower(builder.graph))


def elements(root: Element) -> list[Element]:
    return [e for child in root.children for e in (child, *elements(child))]


def test_nothing_but_the_script_of_the_page_can_run(tmp_path: Path) -> None:
    path = evil_model().explore(tmp_path / "evil.html")
    text = path.read_text(encoding="utf-8")
    root = read_page(text)
    [own] = [s for s in root.all("script") if "type" not in s.attributes]
    digest = base64.b64encode(hashlib.sha256(own.text.encode()).digest()).decode()
    [policy] = [
        m.attributes["content"]
        for m in root.all("meta")
        if m.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy
    for element in elements(root):
        assert not any(name.startswith("on") for name in element.attributes)
        assert element.tag not in ("img", "iframe", "link", "object")
    assert "\u202e" not in text
    assert "http://" not in text
    assert "https://" not in text


def test_names_arrive_as_they_are(tmp_path: Path) -> None:
    text = evil_model().explore(tmp_path / "evil.html").read_text(encoding="utf-8")
    [data] = [s for s in read_page(text).all("script") if "type" in s.attributes]
    columns = json.loads(data.text)["columns"]
    assert tuple(c["name"] for c in columns) == EVIL
    assert columns[2]["shown"] == "a<U+202E>b"


def array(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_are_the_same_doubles(seed: int) -> None:
    graph = random_circuit(seed, numeric=0.3) if seed else every_leaf(0)
    program, parameters = lower(graph)
    found = json.loads(json.dumps(circuit_data("some", program, parameters, None)))
    sums = [array(s["weights"], "<f8") for s in found["segments"] if s["sum"]]
    assert np.array_equal(np.concatenate([np.empty(0), *sums]), parameters.weights)
    for own, table, leaf in zip(found["leaves"], parameters.tables, program.leaves, strict=True):
        assert array(own["columns"], "<i4").tolist() == leaf.variables.tolist()
        numbers = array(own["table"], "<f8").reshape(len(leaf), own["width"])
        if own["kind"] == "states":
            np.testing.assert_allclose(numbers.sum(axis=1), 1.0, rtol=1e-9)
        else:
            assert np.array_equal(numbers, table)
    children = [array(s["children"], "<i4").tolist() for s in found["segments"]]
    assert children == [s.children.tolist() for s in program.segments]


def test_the_same_model_gives_the_same_bytes() -> None:
    program, parameters = lower(random_circuit(3))
    first, second = (page("some", program, parameters, None) for _ in range(2))
    assert first == second


def test_a_circuit_that_is_too_large_is_refused(tmp_path: Path) -> None:
    model = spnc.Model("some", *lower(random_circuit(3)))
    with pytest.raises(InputError) as failed:
        model.explore(tmp_path / "page.html", max_edges=3)
    assert [d.code for d in failed.value.diagnostics] == ["E605"]
    assert not (tmp_path / "page.html").exists()


def test_a_leaf_without_a_counterpart_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = spnc.Model("some", *lower(every_leaf(0)))
    monkeypatch.setattr(encoding, "NUMERIC", ("gaussian",))
    with pytest.raises(InputError) as failed:
        model.explore(tmp_path / "page.html")
    [problem] = failed.value.diagnostics
    assert problem.code == "E605"
    assert "exponential, gamma" in problem.message


def test_the_command_writes_beside_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = Builder([Column("a"), Column("b")])
    builder.product([builder.leaf(0, Bernoulli(0.5)), builder.leaf(1, Bernoulli(0.1))])
    spnc.Model("two", *lower(builder.graph)).save(tmp_path / "model.spnc")
    assert main(["explore", str(tmp_path / "model.spnc"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    written = tmp_path / "explore.html"
    assert said["page"] == str(written)
    assert said["bytes"] == written.stat().st_size
    assert said["edges"] == 2
    assert "two · spnc explore" in written.read_text(encoding="utf-8")


def test_the_page_is_opened_if_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    spnc.Model("some", *lower(random_circuit(3))).save(tmp_path / "model.spnc")
    target = tmp_path / "page.html"
    assert main(["explore", str(tmp_path / "model.spnc"), "-o", str(target), "--open"]) == 0
    assert seen == [target.as_uri()]
    assert str(target) in capsys.readouterr().out

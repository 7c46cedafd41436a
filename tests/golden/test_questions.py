"""Questions in files: good ones with the answers that are printed, bad ones with what is said.

    bad/questions, good/questions     spnc query penguins.spnc --file FILE

`penguins.spnc` is good/circuits/mixed.spn, compiled. After a change that is meant, run

    pytest tests/golden --update-golden

and read the difference as a user would.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

import spnc
from spnc.cli import main

HERE = Path(__file__).parent


def files(folder: str) -> list[Path]:
    return [p.relative_to(HERE) for p in sorted((HERE / folder).glob("*.txt"))]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "penguins.spnc"
    spnc.compile(HERE / "good/circuits/mixed.spn").save(path)
    return path


def compare(found: str, file: Path, update: bool) -> None:
    expected = HERE / f"{file}.expected"
    if update:
        expected.write_text(found, encoding="utf-8")
        return
    wanted = expected.read_text(encoding="utf-8")
    if found != wanted:
        lines = difflib.unified_diff(
            wanted.splitlines(), found.splitlines(), "expected", "found", lineterm=""
        )
        pytest.fail(f"{expected.name} differs:\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("file", files("bad/questions"), ids=str)
def test_bad_questions_are_reported_in_these_words(
    file, model, capsys, monkeypatch, update_golden
) -> None:
    monkeypatch.chdir(HERE / "bad/questions")
    assert main(["query", str(model), "--file", file.name]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"[{file.name[:4]}]" in said.err
    compare(said.err, file, update_golden)


@pytest.mark.parametrize("file", files("good/questions"), ids=str)
def test_good_questions_have_these_answers(file, model, capsys, monkeypatch, update_golden) -> None:
    monkeypatch.chdir(HERE / "good/questions")
    assert main(["query", str(model), "--file", file.name]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    compare(said.out, file, update_golden)

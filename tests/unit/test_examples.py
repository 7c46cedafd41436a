"""Every example runs, prints something and warns of nothing; so does the code in the docs."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PRINTS = {
    "complete_digits": "average test log-likelihood",
    "distance_to_the_truth": "nats from the truth",
    "graph_by_hand": "P(rain | wet) = 0.3913",
    "keep_a_run": "the lock file reproduces the run: True",
    "notations": "read back, it is the same recipe: True",
    "train_and_load": "the loaded model agrees to the last bit: True",
    "words_and_numbers": "petal_length (cm)",
}
GUIDE = ROOT / "docs/guide.md"
PAGES_WITH_CODE = (
    "README.md",
    "docs/guide.md",
    "docs/data.md",
    "docs/questions.md",
    "docs/tables.md",
    "docs/circuits.md",
    "docs/exports.md",
)
QUESTIONS = ROOT / "docs/questions.md"


def run(*arguments: str, cwd: Path) -> str:
    """Run Python with warnings as errors; return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in this language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_every_example_is_known_here() -> None:
    assert sorted(PRINTS) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    printed = run(str(path), "--small", cwd=tmp_path)
    assert PRINTS[path.stem] in printed
    assert "False" not in printed
    assert list(tmp_path.iterdir()) == []  # it leaves nothing behind


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_and_begins_with_a_paragraph(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 60
    assert len((ast.get_docstring(ast.parse(text)) or "").splitlines()) > 2


def test_the_gallery_lists_every_example() -> None:
    gallery = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for path in EXAMPLES:
        assert f"[{path.name}]({path.name})" in gallery


@pytest.mark.parametrize("page", PAGES_WITH_CODE)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    for folder in ("specs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    found = blocks(page, "python")
    assert found
    for code in found:
        run("-c", code, cwd=tmp_path)


def test_the_readme_begins_with_a_training_command_and_a_test_command() -> None:
    """`.ci/run` takes the second block to be the test command."""
    training, testing, *_ = blocks("README.md", "sh")
    assert "spnc train specs/quickstart.yaml" in training
    assert "pytest" in testing


def test_the_readme_shows_the_quickstart_spec() -> None:
    from spnc.diagnostics import Sink, Source
    from spnc.spec.read import read_recipe, recipe_from

    [shown] = blocks("README.md", "yaml")
    recipe = recipe_from(Source("quickstart.yaml", shown), Sink())
    assert recipe is not None
    assert recipe == read_recipe(ROOT / "specs/quickstart.yaml", Sink())


def test_the_guide_shows_what_the_broken_circuit_really_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], update_golden: bool
) -> None:
    from spnc.cli import main

    monkeypatch.chdir(ROOT)
    assert main(["check", "examples/broken.spn"]) == 1
    printed = capsys.readouterr().err
    assert printed.count("error[") == 3
    text = GUIDE.read_text(encoding="utf-8")
    block = f"```text\n$ spnc check examples/broken.spn\n{printed.rstrip()}\n```"
    if update_golden:
        old = re.compile(r"```text\n\$ spnc check examples/broken\.spn\n.*?\n```", re.DOTALL)
        GUIDE.write_text(old.sub(lambda _: block, text), encoding="utf-8")
    else:
        assert block in text


def test_the_page_of_questions_shows_what_is_really_printed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    update_golden: bool,
) -> None:
    from spnc.cli import main

    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    assert main(["train", "specs/iris.yaml", "--quiet"]) == 0
    capsys.readouterr()
    text = QUESTIONS.read_text(encoding="utf-8")
    [old] = re.findall(r"```text\n(\$ spnc query .*?)\n```", text, re.DOTALL)
    shown = []
    for line in re.findall(r"^\$ .*$", old, re.MULTILINE):
        assert main(shlex.split(line)[2:]) == 0
        shown += [line, capsys.readouterr().out.rstrip()]
    printed = "\n".join(shown)
    if update_golden:
        QUESTIONS.write_text(text.replace(old, printed), encoding="utf-8")
    else:
        assert printed == old


def test_the_readme_shows_the_answers_about_penguins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from spnc.cli import main

    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    [commands] = [block for block in blocks("README.md", "sh") if "spnc query" in block]
    train, query = commands.replace("\\\n", " ").splitlines()
    assert main([*shlex.split(train)[1:], "--quiet"]) == 0
    capsys.readouterr()
    assert main(shlex.split(query)[1:]) == 0
    assert capsys.readouterr().out in blocks("README.md", "text")

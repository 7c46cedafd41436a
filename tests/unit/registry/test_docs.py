"""The code of docs/plugins.md runs, and its plug-ins pass the suites that it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from spnc.cli import main
from tests.places import ROOT
from tests.unit.registry.outside import restored

PAGE = (ROOT / "docs/plugins.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_python_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with restored(monkeypatch):
        module = ModuleType("their_page")
        sys.modules["their_page"] = module
        for block in blocks("python"):
            exec(compile(block, "docs/plugins.md", "exec"), module.__dict__)


def test_the_first_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noisy_tree.py").write_text(blocks("python")[0])
    (tmp_path / "trees.yaml").write_text(blocks("yaml")[0])
    with restored(monkeypatch):
        monkeypatch.chdir(tmp_path)
        command = ["train", "trees.yaml", "--set", "optimizer.max_iterations=1", "--quiet"]
        assert main(command) == 1
        assert main([*command, "--allow-plugins"]) == 0


def test_every_group_and_suite_is_on_the_page() -> None:
    import spnc.testing
    from spnc.registry.registries import ALL

    for registry in ALL:
        assert f"`{registry.group}`" in PAGE
    for name in spnc.testing.__all__:
        if name.startswith("check_"):
            assert name in PAGE


def test_nothing_in_spnc_needs_its_test_suites() -> None:
    users = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "spnc").rglob("*.py")
        if "spnc.testing" in path.read_text("utf-8") and path.parent.name != "testing"
    ]
    assert users == []

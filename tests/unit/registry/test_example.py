"""The package in examples/plugin: built, installed and used as anyone would use theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGE = ROOT / "examples/plugin"


def run(*command: str | Path, cwd: Path, site: Path | None = None, code: int = 0) -> str:
    """The output of a Python command; `site` is where the package is installed, if it is."""
    path = [str(ROOT), *([str(site)] if site is not None else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PIP_NO_INPUT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *map(str, command)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a wheel of the package was installed."""
    for tool in ("hatchling", "pip"):
        if find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed")
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    wheels, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    quiet = ["--no-deps", "--quiet"]
    pip = ["-W", "ignore", "-m", "pip"]
    run(*pip, "wheel", source, *quiet, "--no-build-isolation", "-w", wheels, cwd=source)
    [wheel] = wheels.glob("*.whl")
    run(*pip, "install", wheel, *quiet, "--no-index", "--target", folder, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def trained(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of the example's spec."""
    folder = tmp_path_factory.mktemp("trained")
    spec = PACKAGE / "counts.yaml"
    run("-m", "spnc", "train", spec, "-o", "run", "--quiet", cwd=folder, site=site)
    return folder / "run"


def test_its_learner_and_leaf_work_from_the_command_line(site: Path, trained: Path) -> None:
    shown = run("-m", "spnc", "inspect", trained / "model.spnc", cwd=trained, site=site)
    assert "leaves      12" in shown
    rows = PACKAGE / "counts.csv"
    command = ("eval", trained / "model.spnc", rows, "--json")
    scores = json.loads(run("-m", "spnc", *command, cwd=trained, site=site))
    assert "avg_ll" in json.dumps(scores)
    checked = run("-m", "spnc", "check", PACKAGE / "counts.yaml", cwd=trained, site=site)
    assert "a valid spec" in checked


def test_lock_file_and_model_say_what_they_need(trained: Path, tmp_path: Path) -> None:
    lock = trained / "recipe.lock.yaml"
    assert "plugins: [spnc-counts 1.0]" in lock.read_text("utf-8")
    for command in (("eval", trained / "model.spnc", PACKAGE / "counts.csv"), ("train", lock)):
        said = run("-m", "spnc", *command, cwd=tmp_path, code=1)
        assert "error[E141]" in said
        assert "pip install spnc-counts==1.0" in said
        assert "Traceback" not in said


def test_its_family_is_tried_by_auto(site: Path, tmp_path: Path) -> None:
    """By the number of tries and not by the clock, so that a busy machine does not matter."""
    rows = str(PACKAGE / "counts.csv")
    command = ["train", "--auto", rows, "--budget", "1min", "-o", "run", "--quiet"]
    code = (
        "import sys, spnc.cli, spnc.search.auto.loop\n"
        "spnc.search.auto.loop.MOST_TRIES = 6\n"
        f"sys.exit(spnc.cli.main({command!r}))"
    )
    run("-c", code, cwd=tmp_path, site=site)
    assert "binomial components" in (tmp_path / "run/tries.csv").read_text("utf-8")


def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "tests", tmp_path / "tests")
    said = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=tmp_path, site=site)
    assert "2 passed" in said


def test_what_it_says_about_itself_is_true() -> None:
    text = (PACKAGE / "README.md").read_text("utf-8")
    for name in ("leaf.py", "learner.py", "family.py"):
        assert f"(spnc_counts/{name})" in text
        assert (PACKAGE / "spnc_counts" / name).is_file()

"""The sdist, the wheel made from it, and the installed copy are complete; importing is cheap."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.places import ROOT

HEAVY = (
    "numba",
    "sklearn",
    "scipy",
    "matplotlib",
    "rich",
    "networkx",
    "numpy",
    "lark",
    "yaml",
    "cupy",
    "onnx",
)


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> str:
    """Run a Python command and return what it prints.

    `path` comes before the environment's own packages.
    """
    own = [str(path or ROOT), *([sysconfig.get_path("purelib")] if path else [])]
    # What this test run was told (its workers, its coverage) is not for a test run inside it.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV"))}
    environment |= {"PYTHONPATH": os.pathsep.join(own), "PIP_NO_INPUT": "1"}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked source distribution."""
    for tool in ("hatchling", "pip"):
        if find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("sdist")
    run("-m", "hatchling", "build", "--target", "sdist", "--directory", folder, cwd=ROOT)
    [packed] = folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / packed.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the source distribution."""
    target = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", target]
    run("-m", "pip", "wheel", sdist, *options, cwd=sdist)
    [found] = target.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--quiet", "--target", folder]
    run("-m", "pip", "install", wheel, *options, cwd=folder)
    return folder


def test_the_sdist_holds_every_tracked_file(sdist: Path) -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]
    assert [name for name in tracked if not (sdist / name).is_file()] == []


def test_tests_run_from_the_sdist(sdist: Path) -> None:
    """Import every test module; run cheap tests that read README, docs and recorded results."""
    cheap = "test_best_benchmark or test_schema"
    said = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", cheap, cwd=sdist, path=sdist)
    assert re.search(r"[1-9]\d* passed, [1-9]\d{3,} deselected", said)


def test_the_wheel_holds_code_grammar_and_explanations_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "spnc/grammars/spnc.lark" in names
    for page in (ROOT / "spnc/explanations").glob("*.md"):
        assert f"spnc/explanations/{page.name}" in names
    kinds = ("*.py", "*.cu*", "*.css", "*.js")
    sources = [file for kind in kinds for file in (ROOT / "spnc").rglob(kind)]
    assert {"circuit.cuh", "page.css", "page.js", "base.css", "explorer.js"} <= {
        file.name for file in sources
    }
    for module in sources:
        assert module.relative_to(ROOT).as_posix() in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"spnc", "spnc_forest"}


def test_the_installed_copy_works_far_from_the_source(installed: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "specs/tiny.spn", tmp_path / "tiny.spn")
    where = run("-c", "import spnc; print(spnc.__file__)", cwd=tmp_path, path=installed)
    assert Path(where.strip()).is_relative_to(installed)

    checked = run("-m", "spnc", "check", "tiny.spn", cwd=tmp_path, path=installed)
    assert "a valid spec" in checked

    arguments = ("compile", "tiny.spn", "--quiet", "--json", "-o", "tiny.spnc")
    compiled = run("-m", "spnc", *arguments, cwd=tmp_path, path=installed)
    assert json.loads(compiled)["ok"]
    assert (tmp_path / "tiny.spnc").is_file()

    explained = run("-m", "spnc", "explain", "E301", cwd=tmp_path, path=installed)
    assert len(explained.splitlines()) > 3


LOADED = "import sys; print(' '.join(m for m in {heavy!r} if m in sys.modules))"


@pytest.mark.parametrize(
    "statement",
    [
        "import spnc",
        "import spnc.cli",
        "import spnc.cli; spnc.cli.parser().format_help()",
        "import spnc; dir(spnc)",
    ],
)
def test_importing_spnc_and_asking_for_help_loads_nothing_heavy(
    statement: str, tmp_path: Path
) -> None:
    code = f"{statement}\n{LOADED.format(heavy=HEAVY)}"
    assert run("-W", "error", "-c", code, cwd=tmp_path).strip() == ""


def test_help_names_every_command(tmp_path: Path) -> None:
    from spnc.cli import COMMANDS

    text = run("-W", "error", "-m", "spnc", "--help", cwd=tmp_path)
    for command in COMMANDS:
        assert {"evaluate": "eval"}.get(command, command) in text


def test_every_public_name_can_be_had(tmp_path: Path) -> None:
    code = "import spnc; print(*[getattr(spnc, name) and name for name in spnc.__all__])"
    import spnc

    assert run("-W", "error", "-c", code, cwd=tmp_path).split() == spnc.__all__

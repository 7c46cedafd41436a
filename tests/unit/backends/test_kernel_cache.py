"""Compiled code where nothing can be written: the same bits, a hint, and no crash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spnc
from tests.places import ROOT

if os.name != "posix":
    pytest.skip("users and limits of POSIX", allow_module_level=True)

NOBODY = 65534
# As a user who may read everything, since Python may lie in a home, and write to nothing else's.
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
AS_NOBODY += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
KERNEL = """
from spnc.backends.planning.compiling import kernel, why_not_kept

@kernel
def twice(x):
    return 2 * x
"""
USE = "import twice; print(twice.twice(21)); print(twice.why_not_kept())"


def run(
    script: str, folder: Path, limit: int | None = None, *, as_nobody: bool = False, **more: str
) -> list[str]:
    """Return the lines that a script prints; only `more` and what Python needs is set."""
    environment = {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "PATH": os.defpath, **more}

    def begin() -> None:
        import resource

        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    user = AS_NOBODY if as_nobody and os.geteuid() == 0 else []
    done = subprocess.run(
        [*user, sys.executable, "-B", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=begin,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_cache_on_a_full_disk_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(KERNEL)
    found = run(USE, tmp_path, 100, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert found[0] == "42"
    assert "W701" in found[1]
    assert run(USE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == ["42", "None"]


@pytest.fixture
def readable(tmp_path: Path) -> Path:
    """A copy of spnc that an unprivileged user can read and not change."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    package = tmp_path / "site" / "spnc"
    shutil.copytree(ROOT / "spnc", package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site" / "twice.py").write_text(KERNEL)
    (tmp_path / "work").mkdir()
    if os.geteuid() == 0:
        os.chown(tmp_path / "work", NOBODY, NOBODY)
    for path in (tmp_path / "site").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (tmp_path / "site").chmod(0o555)
    try:
        run("import numba, safetensors", tmp_path / "work", as_nobody=True)
    except (AssertionError, OSError):
        pytest.skip("an unprivileged user cannot run this Python")
    return tmp_path


@pytest.mark.parametrize("home", [{}, {"HOME": "/nowhere"}], ids=["no HOME", "no such HOME"])
def test_an_unprivileged_user_without_a_home_gets_a_hint(
    readable: Path, home: dict[str, str]
) -> None:
    """The package is read-only, and no folder for a cache can be written to."""
    script = f"import os, sys; sys.path.insert(0, '../site'); {USE}; print(os.listdir())"
    found = run(script, readable / "work", as_nobody=True, **home)
    assert found[0] == "42"
    if os.geteuid() == 0:  # otherwise the user may have a home, whatever HOME is
        assert "W701" in found[1]
    assert found[-1] == "[]"  # not even a folder `~`


RECIPE = {
    "model": "small",
    "data": {"source": "builtin:asia"},
    "forest": [{"learner": "extra-spn", "count": 2, "min_instances": 600}],
    "optimizer": {"max_iterations": 2},
}
TRAIN = f"""
import pathlib, sys
sys.path.insert(0, "../site")
import spnc
assert pathlib.Path(spnc.__file__).parts[-3] == "site", spnc.__file__
print(spnc.train({RECIPE}).fitted.parameters.weights.tobytes().hex())
"""


def test_code_that_is_not_kept_gives_the_same_bits(readable: Path) -> None:
    (found,) = run(TRAIN, readable / "work", as_nobody=True, HOME="/nowhere")
    assert found == spnc.train(RECIPE).fitted.parameters.weights.tobytes().hex()

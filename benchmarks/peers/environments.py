"""Virtual environments for the peers.

The peers' requirements clash with spnc's and with each other's, so each gets an environment of its
own, made once and kept in the user's cache, outside the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import platformdirs

# A file in every environment made here. It records the requirements, so that changed ones lead to a
# new environment, and it marks the folder as ours, so that no other folder is cleared.
_MARKER = "spnc-peer.json"


def default_folder(name: str) -> Path:
    """Return the folder of the environment `name` in the user's cache."""
    return Path(platformdirs.user_cache_dir("spnc")) / "peers" / name


def ensure(
    name: str,
    requirements: Sequence[str],
    no_deps: Sequence[str] = (),
    folder: Path | None = None,
    first: Sequence[str] = (),
) -> Path:
    """Make the environment `name` if it does not exist, and return its Python.

    `first` is installed first (a pinned torch, so that nothing else chooses a version of it), then
    `requirements`, both with their dependencies, then `no_deps` without (for peers that declare far
    more than the compared part needs). `folder` replaces the default folder.
    """
    folder = default_folder(name) if folder is None else folder.absolute()
    wanted = {
        "name": name,
        "python": ".".join(map(str, sys.version_info[:2])),
        "requirements": list(requirements),
        "no_deps": list(no_deps),
    }
    if first:  # absent otherwise, since older marker files do not have it
        wanted["first"] = list(first)
    marker = folder / _MARKER
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if marker.is_file():
        found = json.loads(marker.read_text(encoding="utf-8"))
        if found == {**wanted, "finished": True} and python.exists():
            return python
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(
            f"{folder} is not an environment made by spnc's benchmarks; name an empty or new folder"
        )

    venv.create(folder, clear=True, with_pip=True)
    # Marked before the installation, so that the next run can continue after an interruption.
    marker.write_text(json.dumps({**wanted, "finished": False}), encoding="utf-8")
    if first:
        _pip_install(python, list(first))
    if requirements:
        _pip_install(python, list(requirements))
    if no_deps:
        _pip_install(python, ["--no-deps", *no_deps])
    marker.write_text(json.dumps({**wanted, "finished": True}), encoding="utf-8")
    return python


def is_ready(name: str) -> bool:
    """Return whether the environment `name` was finished; `ensure` checks its requirements."""
    marker = default_folder(name) / _MARKER
    return marker.is_file() and json.loads(marker.read_text(encoding="utf-8"))["finished"] is True


def run(python: Path, script: Path, arguments: Sequence[str] = ()) -> None:
    """Run `script` by an environment's `python`, without this process's packages."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # One thread and a fixed hash seed, so that records are reproducible.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment |= {**threads, "PYTHONHASHSEED": "0"}
    subprocess.run([str(python), str(script), *arguments], check=True, env=environment)


def _pip_install(python: Path, arguments: list[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], check=True)

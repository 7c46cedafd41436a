"""Lock files: what a run was made from, and whether that is still the same."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.program.program import Program
from spnc.registry.usage import suppliers, used_plugins
from spnc.spec.locked import HEAD, TAIL, digest_of_text
from spnc.spec.plugins import check_locked_plugins
from spnc.spec.recipe import Lock, Recipe
from spnc.spec.relocate import relocated
from spnc.spec.write_yaml import write_yaml


@cache
def versions() -> str:
    """Return what the bits of a result depend on besides spec, data and seed."""
    python = ".".join(platform.python_version_tuple()[:2])
    packages = {"spnc": "spnc-forest", "numpy": "numpy", "scikit-learn": "scikit-learn"}
    found = [f"{name} {version(package)}" for name, package in packages.items()]
    return ", ".join([*found, f"python {python}"])


def recipe_text(recipe: Recipe) -> str:
    """Return the recipe as models and checkpoints keep it: every default, no folders, no lock.

    It says what was done, not where nor within which limits, so that the same run gives the same
    bytes anywhere.
    """
    plain = relocated(recipe, lambda file: file.name, absolute=True)
    search = plain.search if plain.space is not None else None  # else it has no effect
    plain = replace(plain.as_trained(), search=search, lock=None)
    plain = replace(plain, backend=plain.backend.resolved())
    return write_yaml(plain, full=True)


def request_digest(recipe: str, data: str) -> str:
    """Return a digest of what a training was asked for: a `recipe_text` and the digest of data.

    A time limit or a search can end with another recipe, which has another digest.
    """
    sha = hashlib.sha256(data.encode())
    sha.update(recipe.encode())
    return sha.hexdigest()


def check_lock(recipe: Recipe, dataset: Dataset, sink: Sink) -> None:
    """Report data that a lock does not match (E405), and warn of other versions (W402)."""
    lock = recipe.lock
    if lock is None:
        return
    if lock.data is not None and lock.data != dataset.digest:
        sink.error(
            "E405",
            "the data has changed since this recipe was locked",
            lock.span_of("data"),
            notes=[f"the data now has the SHA-256 {dataset.digest}"],
            help="restore the data, or remove `lock` to train on the data as it is now",
        )
    check_locked_plugins(recipe, sink)
    if lock.versions is not None and lock.versions != versions():
        sink.warning(
            "W402",
            "this recipe was locked with other versions",
            lock.span_of("versions"),
            notes=[f"in use now: {versions()}", "the result may differ in its last digits"],
        )


def lock_text(
    recipe: Recipe, dataset: Dataset, folder: Path, program: Program | None = None
) -> str:
    """Return a spec that repeats the run: every default resolved, files relative to `folder`.

    `program` is its circuit, where that is known: its leaves can come from plug-ins too.
    """
    leaves = [table.distribution for table in program.leaves] if program is not None else []
    tries = [one.recipe for one in recipe.space.tries] if recipe.space is not None else [recipe]
    plugins = suppliers(used_plugins(tries, leaves))
    lock = Lock(data=dataset.digest, versions=versions(), plugins=plugins)
    recipe = relocated(recipe, lambda file: Path(os.path.relpath(file, folder)).as_posix())
    search = recipe.search if recipe.space is not None else None
    recipe = replace(recipe, backend=recipe.backend.resolved(), search=search, lock=lock)
    recipe = recipe.as_trained()
    digest = digest_of_text(write_yaml(recipe, full=True))
    return HEAD + write_yaml(replace(recipe, lock=replace(lock, spec=digest)), full=True) + TAIL


def short_text(recipe: Recipe) -> str:
    """Return a spec that repeats the run, for people: only what is not the default.

    File names are absolute, so that the spec still works when it is moved.
    """
    plain = relocated(recipe, lambda file: file.resolve().as_posix())
    given = {name: span for name, span in plain.spans.items() if name not in ("limits", "cluster")}
    return write_yaml(replace(plain.as_trained(), spans=given))

"""Lock files: what a run was made from, and whether that is still the same."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.metadata import version

from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.spec.plugins import check_locked_plugins
from spnc.spec.recipe import Recipe
from spnc.spec.relocate import relocated
from spnc.spec.write_yaml import write_yaml


def versions() -> str:
    """What the bits of a result depend on, besides spec, data and seed."""
    python = ".".join(platform.python_version_tuple()[:2])
    packages = {"spnc": "spnc-forest", "numpy": "numpy", "scikit-learn": "scikit-learn"}
    found = [f"{name} {version(package)}" for name, package in packages.items()]
    return ", ".join([*found, f"python {python}"])


def recipe_text(recipe: Recipe) -> str:
    """The recipe as models and checkpoints remember it: every default, no folders, no lock.

    It says what was done, and not where, so that the same run gives the same bytes anywhere.
    """
    plain = relocated(recipe, lambda file: file.name)
    search = plain.search if plain.space is not None else None  # else it has no effect
    plain = replace(plain, backend=plain.backend.resolved(), search=search, lock=None)
    return write_yaml(plain, full=True)


def check_lock(recipe: Recipe, dataset: Dataset, sink: Sink) -> None:
    """Data that a lock names has to be the same (E405); other versions are worth a word (W402)."""
    lock = recipe.lock
    if lock is None:
        return
    if lock.data is not None and lock.data != dataset.digest:
        sink.error(
            "E405",
            "the data is not what this recipe was locked to",
            lock.span_of("data"),
            notes=[f"the data now has the SHA-256 {dataset.digest}"],
            help="bring the data back, or remove `lock` to train on what is there",
        )
    check_locked_plugins(recipe, sink)
    if lock.versions is not None and lock.versions != versions():
        sink.warning(
            "W402",
            "the versions are not those this recipe was locked with",
            lock.span_of("versions"),
            notes=[f"in use now: {versions()}", "the result may differ in its last digits"],
        )

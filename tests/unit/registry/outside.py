"""Pretended packages and files with plug-ins, for tests in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from spnc.registry import suppliers
from spnc.registry.registries import ALL
from spnc.registry.suppliers import forget_offers

LEARNER = """
from dataclasses import dataclass

from spnc.learners.chow_liu import ChowLiu
from spnc.registry import LEARNERS, option


@LEARNERS.register("{name}")
@dataclass(frozen=True, kw_only=True)
class Mine(ChowLiu):
    '''A Chow-Liu tree by another name.'''

    extra: int = option(1, "an option of its own", min=1)
"""


def install(
    folder: Path,
    name: str = "their-package",
    version: str = "1.2",
    *,
    entry_points: str,
    **modules: str,
) -> None:
    """Put a package into a folder as pip would: its metadata and its modules."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (about / "entry_points.txt").write_text(dedent(entry_points))
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@contextmanager
def restored(monkeypatch: pytest.MonkeyPatch, folder: Path | None = None) -> Iterator[None]:
    """Registries as they were before; `folder` is on the path meanwhile."""
    tables = [dict(registry._outside) for registry in ALL]
    noted = dict(suppliers._PACKAGES), dict(suppliers._FILES)
    if folder is not None:
        monkeypatch.syspath_prepend(str(folder))
    forget_offers()
    try:
        yield
    finally:
        monkeypatch.undo()
        for registry, table in zip(ALL, tables, strict=True):
            registry._outside = table
        suppliers._PACKAGES.clear()
        suppliers._PACKAGES.update(noted[0])
        suppliers._FILES.clear()
        suppliers._FILES.update(noted[1])
        for module in [m for m in sys.modules if m.startswith("their_")]:
            del sys.modules[module]
        forget_offers()

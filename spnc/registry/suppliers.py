"""The package or the file that a plug-in from outside spnc comes from."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Supplier:
    """An installed package, or a Python file, that provides plug-ins."""

    name: str  # of the package (as `pip install` takes it), or of the file
    version: str  # of the package; of a file its SHA-256
    is_file: bool = False

    def __str__(self) -> str:
        return f"the file `{self.name}`" if self.is_file else f"{self.name} {self.version}".rstrip()

    def locked(self) -> str:
        """The supplier as lock files record it; `read_locked` is the inverse."""
        return f"{self.name} sha256:{self.version}" if self.is_file else str(self)

    def as_json(self) -> dict[str, str]:
        """The supplier as models record it."""
        if self.is_file:
            return {"file": self.name, "sha256": self.version}
        return {"package": self.name, "version": self.version}


def read_locked(text: str) -> Supplier:
    """The supplier that `Supplier.locked` wrote."""
    name, _, version = text.rpartition(" ")
    if version.startswith("sha256:"):
        return Supplier(name, version.removeprefix("sha256:"), is_file=True)
    return Supplier(name, version) if name else Supplier(version, "")


_PACKAGES: dict[str, Supplier] = {}  # by the name of a module that an entry point named
_FILES: dict[str, Supplier] = {}  # by the name that a plug-in file has as a module


def file_supplier(path: Path, content: bytes) -> Supplier:
    """The supplier that a Python file is."""
    return Supplier(path.name, hashlib.sha256(content).hexdigest(), is_file=True)


def note_file(module: str, supplier: Supplier) -> None:
    """Remember that a module was loaded from a plug-in file."""
    _FILES[module] = supplier


def loaded_files() -> set[str]:
    """The names of the plug-in files that were imported."""
    return {supplier.name for supplier in _FILES.values()}


def loaded_suppliers() -> list[Supplier]:
    """Return the plug-in files that were imported."""
    return list(_FILES.values())


def is_builtin(module: str) -> bool:
    """Whether a module is part of spnc."""
    return module == "spnc" or module.startswith("spnc.")


def supplier_of(plugin: type[Any]) -> Supplier | None:
    """Where a plug-in comes from; None if it is built in."""
    return None if is_builtin(plugin.__module__) else supplier_of_module(plugin.__module__)


def supplier_of_module(module: str) -> Supplier:
    """The file or package that a module outside spnc belongs to."""
    if module in _FILES:
        return _FILES[module]
    top = module.split(".")[0]
    if top in _PACKAGES:
        return _PACKAGES[top]
    # It was imported by its user and not through an entry point.
    packages = _distributions().get(top)
    if packages:
        return Supplier(packages[0], importlib.metadata.version(packages[0]))
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None and Path(file).is_file():
        return file_supplier(Path(file), Path(file).read_bytes())
    return Supplier(module, "")


def installed_version(package: str) -> str | None:
    """The version of an installed package; None if there is none."""
    try:
        return importlib.metadata.version(package)
    except (importlib.metadata.PackageNotFoundError, FileNotFoundError):  # the backport's way
        return None


@cache
def _distributions() -> Any:
    return importlib.metadata.packages_distributions()


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry point of an installed package: a plug-in that may not be imported yet."""

    entry: EntryPoint
    supplier: Supplier

    def provides(self, plugin: type[Any]) -> bool:
        """Whether a registered class is the one that this entry point stands for."""
        return plugin.__module__.split(".")[0] == self.entry.module.split(".")[0]

    def load(self) -> None:
        """Import the module, which registers the plug-in."""
        _PACKAGES[self.entry.module.split(".")[0]] = self.supplier
        self.entry.load()


def normal_name(name: str) -> str:
    """A plug-in's name: hyphens and underscores are the same."""
    return name.replace("_", "-")


@cache
def offers_of(group: str) -> dict[str, list[Offer]]:
    """What installed packages offer under an entry-point group, by plug-in name."""
    found: dict[str, list[Offer]] = {}
    for entry in _entry_points().select(group=group):
        package = entry.dist
        supplier = Supplier(package.name, package.version) if package else Supplier("?", "")
        found.setdefault(normal_name(entry.name), []).append(Offer(entry, supplier))
    return found


@cache
def _entry_points() -> Any:
    """The entry points of all installed packages; nothing is imported."""
    return importlib.metadata.entry_points()


def forget_offers() -> None:
    """Look for installed packages again, as after `pip install` in a running process."""
    for cached in (offers_of, _entry_points, _distributions):
        cached.cache_clear()

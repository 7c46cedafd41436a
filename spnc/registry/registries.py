"""`Registry`: the plug-ins of one kind, ours and those from outside."""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from spnc.diagnostics import Diagnostic, InputError
from spnc.registry.suppliers import (
    Offer,
    Supplier,
    is_builtin,
    normal_name,
    offers_of,
    supplier_of,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outside:
    """A registered plug-in that is not part of spnc."""

    kind: str
    name: str
    plugin: type[Any]

    @property
    def supplier(self) -> Supplier:
        """The package or file that it comes from."""
        found = supplier_of(self.plugin)
        assert found is not None
        return found


class Registry(Generic[T]):
    """The plug-ins of one kind: the modules of a package of spnc, and entry points of others.

    `kind` names the kind in messages; `key` is the YAML key that holds a plug-in's name. Outside
    plug-ins are imported when they are asked for by name, so that a broken one harms only those
    who use it.
    """

    def __init__(self, kind: str, package: str, key: str) -> None:
        self.kind, self.package, self.key = kind, package, key
        self.group = f"spnc.{package.rsplit('.', 1)[-1]}"  # of entry points
        self._builtin: dict[str, type[T]] = {}
        self._outside: dict[str, type[T]] = {}
        self._loaded = False
        self._derived: dict[str, Callable[[type[T]], type[T] | None]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator: make the class known under `name`."""

        def add(cls: type[T]) -> type[T]:
            if name != normal_name(name):
                raise ValueError(f"{name!r} has underscores; names of plug-ins have hyphens")
            known = self._known(name, own=is_builtin(cls.__module__))
            # A notebook's cell, or a module, that is run again replaces what it defined before.
            if known is not None and not _is_redefinition(known, cls):
                self._clash(name, supplier_of(known), supplier_of(cls))
            cls.plugin_name = name  # type: ignore[attr-defined]
            (self._builtin if is_builtin(cls.__module__) else self._outside)[name] = cls
            return cls

        return add

    def derive(self, prefix: str, make: Callable[[type[T]], type[T] | None]) -> None:
        """Find plug-ins whose name is `prefix` and the name of another, by making them from it.

        `make` registers and returns the derived plug-in, or returns None if there is none.
        """
        self._derived[prefix] = make

    def _derive(self, name: str) -> type[T] | None:
        """The plug-in called `name` that is made from another one, or None."""
        names = self._names()
        for prefix, make in self._derived.items():
            rest = name.removeprefix(prefix)
            if rest != name and rest in names:
                base = self.find(rest)
                return None if base is None else make(base)
        return None

    def _known(self, name: str, *, own: bool) -> type[T] | None:
        """What is registered under a name; for a plug-in from outside, ours are loaded first."""
        builtin = self._builtin if own else self._load()
        return builtin.get(name) or self._outside.get(name)

    def _load(self) -> dict[str, type[T]]:
        """The built-in plug-ins, imported the first time."""
        if not self._loaded:
            self._loaded = True
            package = importlib.import_module(self.package)
            for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
                importlib.import_module(f"{self.package}.{module}")
        return self._builtin

    @property
    def builtin(self) -> dict[str, type[T]]:
        """The plug-ins that are part of spnc, by name, in alphabetical order."""
        return dict(sorted(self._load().items()))

    def find(self, name: str) -> type[T] | None:
        """The plug-in called `name`, or None; hyphens and underscores are the same.

        Raises `InputError` if it cannot be imported, or if several have this name.
        """
        name = normal_name(name)
        found = self._load().get(name) or self._outside.get(name)
        offers = offers_of(self.group).get(name, [])
        if found is None and not offers:
            return self._derive(name)
        others = [o for o in offers if found is None or not o.provides(found)]
        suppliers = [*([supplier_of(found)] if found else []), *(o.supplier for o in others)]
        if len(suppliers) > 1:
            self._clash(name, suppliers[0], suppliers[1])
        return found or self._import(name, others[0])

    def _import(self, name: str, offer: Offer) -> type[T]:
        """The plug-in that an entry point names: importing its module has to register it."""
        entry = f"entry point `{name} = {offer.entry.value}` in the group `{self.group}`"
        try:
            offer.load()
        except InputError:
            raise
        except Exception as error:
            self._fail(name, offer, [entry, *raised(error)])
        if name not in self._outside:
            self._fail(name, offer, [entry, f"importing it registers no {self.kind} `{name}`"])
        return self._outside[name]

    def _fail(self, name: str, offer: Offer, notes: list[str]) -> NoReturn:
        message = f"the {self.kind} `{name}` of {offer.supplier} cannot be loaded"
        help = f"update {offer.supplier.name}, or report this to its authors"
        raise InputError([Diagnostic("E139", message, notes=tuple(notes), help=help)])

    def _clash(self, name: str, one: Supplier | None, other: Supplier | None) -> NoReturn:
        names = ["spnc itself" if s is None else str(s) for s in (one, other)]
        message = f"two {plural(self.kind)} are named `{name}`: one of {' and one of '.join(names)}"
        help = "rename one of them, or uninstall its package"
        raise InputError([Diagnostic("E140", message, help=help)])

    def withdraw(self, module: str) -> None:
        """Forget the outside plug-ins that a module registered, before it is loaded anew."""
        self._outside = {n: c for n, c in self._outside.items() if c.__module__ != module}

    def outside(self) -> Iterator[Outside]:
        """The outside plug-ins that have been imported."""
        for name, plugin in sorted(self._outside.items()):
            yield Outside(self.kind, name, plugin)

    def usable(self) -> tuple[dict[str, type[T]], list[Diagnostic]]:
        """All plug-ins that can be imported, by name; and what is wrong with the others."""
        found: dict[str, type[T]] = {}
        problems: list[Diagnostic] = []
        for name in self:
            try:
                found[name] = self[name]
            except InputError as error:
                problems += error.diagnostics
        return found, problems

    def __getitem__(self, name: str) -> Any:
        """The plug-in called `name`; unlike with `find`, a built-in one is never in doubt."""
        name = normal_name(name)
        found = self._load().get(name) or self._outside.get(name) or self.find(name)
        if found is None:
            raise KeyError(f"no {self.kind} is named {name!r}")
        return found

    def __contains__(self, name: str) -> bool:
        name = normal_name(name)
        return name in self._names() or self._derive(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names()))

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> set[str]:
        """Every name, those of plug-ins that are not imported yet among them."""
        return {*self._load(), *self._outside, *offers_of(self.group)}


def _is_redefinition(known: type[Any], cls: type[Any]) -> bool:
    same = (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
    return same and not is_builtin(cls.__module__)


def raised(error: BaseException) -> list[str]:
    """Notes about an exception in code from outside: what it says, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    if isinstance(error, SyntaxError) and error.filename is not None:
        return [said, f"in {error.filename}, line {error.lineno}"]
    return (
        [said, f"raised in {frames[-1].filename}, line {frames[-1].lineno}"] if frames else [said]
    )


def plural(kind: str) -> str:
    """The plural of a registry's kind."""
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


LEARNERS: Registry[Any] = Registry("learner", "spnc.learners", "learner")
RESIDUALS: Registry[Any] = Registry("residual strategy", "spnc.residuals", "strategy")
OPTIMIZERS: Registry[Any] = Registry("optimizer", "spnc.training.optimizers", "method")
OBJECTIVES: Registry[Any] = Registry("objective", "spnc.training.objectives", "kind")
STOPS: Registry[Any] = Registry("stopping rule", "spnc.training.stops", "rule")
BACKENDS: Registry[Any] = Registry("backend", "spnc.backends", "name")
LEAVES: Registry[Any] = Registry("leaf distribution", "spnc.leaves", "distribution")
FAMILIES: Registry[Any] = Registry("family", "spnc.search.auto.families", "family")
ALL = (LEARNERS, RESIDUALS, OPTIMIZERS, OBJECTIVES, STOPS, BACKENDS, LEAVES, FAMILIES)

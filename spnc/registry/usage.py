"""Which outside plug-ins a recipe or a model uses; and which are needed but absent.

Lock files and models record them. Nothing is recorded about built-in plug-ins, whose version is
that of spnc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from spnc.diagnostics import Sink, Span
from spnc.registry.options import Options, nested_options
from spnc.registry.registries import ALL, LEAVES, Outside
from spnc.registry.suppliers import Supplier, installed_version, loaded_files, read_locked


def used_plugins(recipes: Iterable[Options], leaves: Iterable[str] = ()) -> list[Outside]:
    """The outside plug-ins among the options of recipes and the leaves of a circuit."""
    classes = {type(options) for recipe in recipes for options in nested_options(recipe)}
    names = set(leaves)
    return [
        each
        for registry in ALL
        for each in registry.outside()
        if each.plugin in classes or (registry is LEAVES and each.name in names)
    ]


def suppliers(used: Iterable[Outside]) -> tuple[str, ...] | None:
    """The suppliers of plug-ins as lock files record them; None if there are none."""
    return tuple(dict.fromkeys(each.supplier.locked() for each in used)) or None


def plugin_record(used: Iterable[Outside]) -> dict[str, Any]:
    """What a model's provenance says about outside plug-ins; empty if it needed none."""
    record = [{"kind": u.kind, "name": u.name, **u.supplier.as_json()} for u in used]
    return {"plugins": record} if record else {}


def report_absent_suppliers(locked: Iterable[tuple[str, Span]], sink: Sink) -> None:
    """Report packages and files that a lock file names and that are absent (E141)."""
    for text, span in locked:
        supplier = read_locked(text)
        if supplier.is_file:
            here, state = supplier.name in loaded_files(), "imported"
        else:
            here, state = installed_version(supplier.name) is not None, "installed"
        if not here:
            message = f"this recipe needs plug-ins of {supplier}, which is not {state}"
            sink.error("E141", message, span, help=_how_to_get(supplier))


def report_absent_leaves(about: dict[str, Any], where: str, sink: Sink) -> bool:
    """Report leaf distributions of a model that come from an absent package or file (E141).

    `about` is the description in the model's file, which may be damaged.
    """
    recorded = _recorded_leaves(about)
    absent = [name for name in dict.fromkeys([*recorded, *_leaves(about)]) if name not in LEAVES]
    for name in absent:
        message = f"this model has `{name}` leaves, which spnc does not know"
        help = "install the package that provides them, or name their file with --plugin"
        if name in recorded:
            message = f"this model has `{name}` leaves, which {recorded[name]} provides"
            help = _how_to_get(recorded[name])
        sink.error("E141", message, where=where, help=help)
    return bool(absent)


def _leaves(about: dict[str, Any]) -> Iterator[str]:
    """Yield the names of a model's leaf distributions, as far as they are readable."""
    leaves = about.get("leaves")
    for entry in leaves if isinstance(leaves, list) else []:
        if isinstance(entry, list) and entry and isinstance(entry[0], str):
            yield entry[0]


def _recorded_leaves(about: dict[str, Any]) -> dict[str, Supplier]:
    """The suppliers of outside leaves, as `plugin_record` put them into the provenance."""
    found = {}
    provenance = about.get("provenance")
    record = provenance.get("plugins") if isinstance(provenance, dict) else None
    for entry in record if isinstance(record, list) else []:
        if isinstance(entry, dict) and entry.get("kind") == LEAVES.kind:
            is_file = "file" in entry
            name, version = ("file", "sha256") if is_file else ("package", "version")
            supplier = Supplier(str(entry.get(name)), str(entry.get(version)), is_file)
            found[str(entry.get("name"))] = supplier
    return found


def _how_to_get(supplier: Supplier) -> str:
    if supplier.is_file:
        return f"give the file: spnc --plugin {supplier.name} COMMAND; or import it in Python"
    wanted = f"{supplier.name}=={supplier.version}" if supplier.version else supplier.name
    return f"install it: pip install {wanted}"

"""`plugins` in a spec: Python files beside it, imported before its other names are looked up."""

from __future__ import annotations

from pathlib import Path

from spnc.data.sources import file_path
from spnc.diagnostics import Sink
from spnc.registry import fields_of
from spnc.registry.files import is_loaded, load_file
from spnc.registry.suppliers import installed_version, loaded_suppliers, read_locked
from spnc.registry.usage import report_absent_suppliers
from spnc.spec.recipe import Recipe
from spnc.spec.tree import Mapping, Scalar, Sequence, Tree

KEY = "plugins"


def load_plugins(tree: Tree, sink: Sink, *, allowed: bool) -> bool:
    """Import the plug-in files that a spec names; return False after reporting a problem.

    A spec must not run code by itself: without `allowed`, files that have not been imported before
    are reported (E138). So are suppliers of plug-ins that a lock file names and that are absent
    (E141).
    """
    problems = Sink()
    rule = fields_of(Recipe)[KEY].rule
    for item in _texts(_under(tree, KEY)):
        file = rule.file_name(item.text)
        path = file_path(file, Path(item.span.source.name).parent)
        if is_loaded(path):
            continue
        if not allowed:
            problems.error(
                "E138",
                f"this spec imports the Python file `{file}`, which was not allowed",
                item.span,
                help="read the file; if you trust it, give --allow-plugins "
                "(in Python: allow_plugins=True)",
            )
            continue
        load_file(path, item.span, problems)
    if not problems.failed:
        locked = [(item.text, item.span) for item in _texts(_under(_under(tree, "lock"), KEY))]
        report_absent_suppliers(locked, problems)
    sink.diagnostics += problems.diagnostics
    return not problems.failed


def check_locked_plugins(recipe: Recipe, sink: Sink) -> None:
    """Warn of outside plug-ins that are not those a recipe was locked with (W402)."""
    lock = recipe.lock
    if lock is None or lock.plugins is None:
        return
    loaded = [supplier.locked() for supplier in loaded_suppliers()]
    notes = []
    for text in lock.plugins:
        locked = read_locked(text)
        if locked.is_file:
            same_name = [other for other in loaded if read_locked(other).name == locked.name]
            found: str | None = text if text in loaded else ", ".join(same_name)
        else:
            version = installed_version(locked.name)
            found = f"{locked.name} {version}" if version is not None else None
        if found != text:
            notes.append(f"locked: {text}; in use now: {found or 'none'}")
    if notes:
        message = "the plug-ins are not those this recipe was locked with"
        notes.append("the result may differ")
        sink.warning("W402", message, lock.span_of(KEY), notes=notes)


def _under(tree: Tree | None, key: str) -> Tree | None:
    entry = tree.get(key) if isinstance(tree, Mapping) else None
    return entry.value if entry is not None else None


def _texts(tree: Tree | None) -> list[Scalar]:
    """The texts of a list, or of a single one; what else it holds is reported by binding."""
    if isinstance(tree, Scalar) and tree.says_none:
        return []
    items = tree.items if isinstance(tree, Sequence) else (tree,)
    return [i for i in items if isinstance(i, Scalar) and isinstance(i.value, str)]

"""Python files that a spec names under `plugins`: imported only when the user allows it."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from spnc.diagnostics import InputError, Sink, Span, nearest_file
from spnc.registry.registries import ALL, raised
from spnc.registry.suppliers import file_supplier, note_file


class LoadedFile(NamedTuple):
    """A plug-in file as it was imported."""

    path: str
    content: bytes


_LOADED: dict[str, LoadedFile] = {}  # every file that was imported, by its module's name
_GIVEN: list[str] = []  # the files that the command line named with --plugin


@contextmanager
def given_on_the_command_line(names: Sequence[str]) -> Iterator[None]:
    """Note, for the commands that users are advised to run, the plug-in files that were named."""
    _GIVEN[:] = names
    try:
        yield
    finally:
        _GIVEN.clear()


def given_files() -> tuple[str, ...]:
    """Return the plug-in files that the command line named."""
    return tuple(_GIVEN)


def load_file(path: Path, span: Span, sink: Sink) -> None:
    """Import a plug-in file, which registers its plug-ins, or report why that is impossible.

    A file that was imported before is imported again only if its content has changed.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        near = nearest_file(path)
        help = f"did you mean `{near.name}`?" if near is not None else None
        sink.error("E139", f"cannot read the plug-in file `{path}`: {reason}", span, help=help)
        return
    module = _module_name(path)
    supplier = file_supplier(path, content)
    known = _LOADED.get(module)
    if known is not None and known.content == content:
        return
    for registry in ALL:
        registry.withdraw(module)
    _LOADED.pop(module, None)
    note_file(module, supplier)
    try:
        _execute(module, path, content)
    except InputError as error:  # a name is taken
        sink.diagnostics += [replace(d, span=span) for d in error.diagnostics]
    except Exception as error:
        message = f"the plug-in file `{path}` cannot be imported"
        sink.error("E139", message, span, notes=raised(error))
    else:
        if not any(o.plugin.__module__ == module for r in ALL for o in r.outside()):
            sink.error(
                "E139",
                f"the plug-in file `{path}` registers nothing",
                span,
                help='decorate a class, for example with `@LEARNERS.register("my-learner")`',
            )
            return
        _LOADED[module] = LoadedFile(str(path), content)
        return
    sys.modules.pop(module, None)


def is_loaded(path: Path) -> bool:
    """Whether a file was imported with the content that it has now."""
    known = _LOADED.get(_module_name(path))
    try:
        return known is not None and path.read_bytes() == known.content
    except OSError:
        return False


def loaded_modules() -> dict[str, LoadedFile]:
    """Return the plug-in files whose plug-ins are registered, by the names of their modules."""
    used = {o.plugin.__module__ for registry in ALL for o in registry.outside()}
    return {module: file for module, file in _LOADED.items() if module in used}


def load_as_elsewhere(modules: Mapping[str, LoadedFile]) -> None:
    """Import the plug-in files that another process has imported, as they were then, and no others.

    This is for workers: who began their work has allowed these files.
    """
    for module in [m for m, file in _LOADED.items() if modules.get(m) != file]:
        for registry in ALL:
            registry.withdraw(module)
        del _LOADED[module]
    for module, file in modules.items():
        if module in _LOADED:
            continue
        path = Path(file.path)
        note_file(module, file_supplier(path, file.content))
        _execute(module, path, file.content)
        _LOADED[module] = file


def _module_name(path: Path) -> str:
    """A module name of its own for every file, so that two of one name do not meet."""
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    return f"spnc_plugin_{path.stem}_{place}"


def _execute(name: str, path: Path, content: bytes) -> None:
    """Run the file as a module; it has to be known to Python for its dataclasses to work."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Not by the loader, which could take bytecode of an older version of the file.
    exec(compile(content, str(path), "exec"), module.__dict__)

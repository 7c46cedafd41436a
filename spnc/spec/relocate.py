"""Recipes without their place: no spans, and file names that hold from somewhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spnc.data.sources import split_scheme
from spnc.registry import Options, fields_of
from spnc.spec.recipe import Recipe


def relocated(recipe: Recipe, rename: Callable[[Path], str], *, absolute: bool = False) -> Recipe:
    """Return the recipe without spans, each relative file name put through `rename`.

    With `absolute`, all file names are.
    """
    found: Recipe = _relocated(recipe, rename, absolute)
    if recipe.space is not None:
        space = recipe.space.map(lambda each: relocated(each, rename, absolute=absolute))
        found = replace(found, space=space)
    return found


def without_place(options: Options) -> Options:
    """Any options without spans, and files by their names only."""
    found: Options = _relocated(options, lambda file: file.name, False)
    return found


def files_of(recipe: Recipe) -> set[Path]:
    """The files that a recipe, or any try of it, names."""
    found = set(_files_of(recipe))
    if recipe.space is not None:
        found.update(*(files_of(one.recipe) for one in recipe.space.tries))
    return found


def _files_of(options: Options) -> Iterator[Path]:
    for name, f in fields_of(type(options)).items():
        value = getattr(options, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Options):
                yield from _files_of(inner)
        base = options.base(name)
        if f.rule.path and isinstance(value, str) and split_scheme(value, base) is None:
            yield base / Path(value).expanduser()


def _relocated(options: Any, rename: Callable[[Path], str], absolute: bool) -> Any:
    changes: dict[str, Any] = {"spans": {}}
    for name, f in fields_of(type(options)).items():
        value = getattr(options, name)
        if isinstance(value, Options):
            changes[name] = _relocated(value, rename, absolute)
        elif isinstance(value, tuple) and value and isinstance(value[0], Options):
            changes[name] = tuple(_relocated(v, rename, absolute) for v in value)
        elif f.rule.path and isinstance(value, str):
            base = options.base(name)
            is_file = split_scheme(value, base) is None
            is_absolute = value.startswith("~") or Path(value).is_absolute()
            if is_file and (absolute or not is_absolute):
                changes[name] = rename(base / value)
    return replace(options, **changes)

"""Recipes for another folder: without spans, and with file names that are right there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from spnc.data.sources import file_path, split_scheme
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
    """Options without spans, and with file names without folders."""
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
        for text in _texts(value):
            if f.rule.is_file(text) and split_scheme(text, base) is None:
                yield file_path(f.rule.file_name(text), base)


def _texts(value: Any) -> tuple[str, ...]:
    """The texts that an option holds: one, a list of them, or none."""
    return tuple(v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, str))


def _relocated(options: Any, rename: Callable[[Path], str], absolute: bool) -> Any:
    changes: dict[str, Any] = {"spans": {}}
    for name, f in fields_of(type(options)).items():
        value = getattr(options, name)
        if isinstance(value, Options):
            changes[name] = _relocated(value, rename, absolute)
        elif isinstance(value, tuple) and value and isinstance(value[0], Options):
            changes[name] = tuple(_relocated(v, rename, absolute) for v in value)
        elif any(map(f.rule.is_file, _texts(value))):
            base = options.base(name)
            moved = tuple(
                rename(base / f.rule.file_name(text)) if _moves(text, base, absolute) else text
                for text in _texts(value)
            )
            changes[name] = moved if isinstance(value, tuple) else moved[0]
    return replace(options, **changes)


def _moves(text: str, base: Path, absolute: bool) -> bool:
    """Whether a text names a file, one relative to the spec unless `absolute` ones count too."""
    is_absolute = text.startswith("~") or Path(text).is_absolute()
    return split_scheme(text, base) is None and (absolute or not is_absolute)

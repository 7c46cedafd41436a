"""Reading a spec, in either notation, into a `Recipe`."""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import yaml

from spnc.data.given_shards import GivenShards
from spnc.data.options import DataOptions
from spnc.data.raw_table import RawTable
from spnc.data.sources import FROM_PYTHON
from spnc.diagnostics import Sink, Source, read_source
from spnc.registry import fields_of
from spnc.spec.dsl import read_dsl
from spnc.spec.files import kind_of
from spnc.spec.locked import check_locked_spec
from spnc.spec.override import override
from spnc.spec.plugins import load_plugins
from spnc.spec.recipe import VERSION, Recipe
from spnc.spec.search_section import bind_recipe
from spnc.spec.tree import Entry, Mapping, Scalar, Tree
from spnc.spec.yaml_reader import read_yaml


def read_recipe(
    path: Path,
    sink: Sink,
    settings: Sequence[str] = (),
    *,
    allow_plugins: bool = False,
    data_given: bool = False,
) -> Recipe | None:
    """The recipe in a file, with `path=value` settings laid over it; None after errors.

    `allow_plugins` permits importing the Python files that the spec names under `plugins`. With
    `data_given`, rows come from Python, whatever the spec says.
    """
    is_model = path.suffix.lower() == ".spnc"  # not a text; `recipe_from` reports it
    source = Source(str(path), "") if is_model else read_source(path, sink)
    if source is None:
        return None
    return recipe_from(source, sink, settings, allow_plugins=allow_plugins, data_given=data_given)


def spec_source(spec: Map[str, Any], sink: Sink) -> Source | None:
    """A spec given as a dict as the text of a spec, so that messages can show where they are."""
    try:
        text = yaml.safe_dump(_plain(spec), sort_keys=False, allow_unicode=True)
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        sink.error("E101", f"the dict is not a spec: {reason}", help="use plain Python values")
        return None
    return Source("<dict>.yaml", text)


def _plain(value: Any) -> Any:
    """A value with tuples as lists, paths as texts, and numbers of numpy as Python's."""
    if isinstance(value, Map):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def with_table(recipe: Recipe, table: RawTable | GivenShards) -> Recipe:
    """The recipe with rows that were given in Python."""
    if isinstance(table, RawTable):
        found = replace(recipe, data=replace(recipe.data, table=table))
    else:
        found = replace(recipe, data=replace(recipe.data, shards=table))
    if recipe.space is None:
        return found
    return replace(found, space=recipe.space.map(lambda each: with_table(each, table)))


def _with_given_data(tree: Tree) -> Tree:
    """The tree whose rows come from Python: files that it names for them are not read."""
    if not isinstance(tree, Mapping):
        return tree
    entry = tree.get("data")
    span = entry.key_span if entry is not None else tree.span
    source = Entry("source", span, Scalar(FROM_PYTHON, FROM_PYTHON, span, quoted=True))
    entries: tuple[Entry, ...] = ()
    if entry is not None and isinstance(entry.value, Mapping):
        entries = tuple(e for e in entry.value.entries if not _names_rows(e))
    return tree.with_entry(Entry("data", span, Mapping((source, *entries), span)))


def _names_rows(entry: Entry) -> bool:
    """Whether an option of the data says where rows are, not how they are divided."""
    field, value = fields_of(DataOptions).get(entry.key), entry.value
    if field is None or not field.rule.path:
        return False
    return not isinstance(value, Scalar) or field.rule.is_file(str(value.value))


def recipe_from(
    source: Source,
    sink: Sink,
    settings: Sequence[str] = (),
    *,
    allow_plugins: bool = False,
    data_given: bool = False,
) -> Recipe | None:
    """The recipe in a text; the suffix of its name tells the notation. See `read_recipe`."""
    kind = kind_of(Path(source.name), source.text, sink)
    tree: Tree | None = None
    if kind == "yaml":
        tree = read_yaml(source, sink)
    elif kind == "dsl":
        tree = read_dsl(source, sink)
    elif kind is not None:
        what = "a trained model" if kind == "model" else "a circuit"
        sink.error(
            "E116",
            f"`{source.name}` holds {what}, not a spec",
            where=source.name,
            help="name it in a spec's forest, with `learner: circuit` and `file`"
            if kind != "model"
            else "give the spec that it was trained from",
        )
    if tree is None:
        return None
    check_locked_spec(tree, sink)
    tree = override(tree, settings, sink)
    if data_given:
        tree = _with_given_data(tree)
    if not _check_version(tree, sink):
        return None  # what else it says may be right in that version
    if not load_plugins(tree, sink, allowed=allow_plugins):
        return None  # names in the rest of the spec may be those of plug-ins
    start = source.span(1, 1, 1, 2)
    at = tree.entries[0].key_span if isinstance(tree, Mapping) and tree.entries else start
    recipe = bind_recipe(tree, at, sink)
    if recipe is not None and recipe.search is not None and recipe.space is None and not settings:
        sink.warning(
            "W130",
            "no option of this spec is searched for, so `search` has no effect",
            recipe.span_of("search"),
            help="give an option values to try, such as `smoothing: {search: [0.1, 1]}`",
        )
    return recipe


def _check_version(tree: Tree, sink: Sink) -> bool:
    """Whether this spnc can read the version that the spec says it is written for."""
    entry = tree.get("spnc") if isinstance(tree, Mapping) else None
    if entry is None or not isinstance(entry.value, Scalar):
        return True
    value = entry.value.value
    newer = isinstance(value, int) and value > VERSION
    if newer:
        sink.error(
            "E110",
            f"this spec is of format version {value}; this spnc reads version {VERSION}",
            entry.value.span,
            help="install a newer spnc: pip install --upgrade spnc-forest",
        )
    return not newer

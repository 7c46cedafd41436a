"""The public functions behind `import spnc`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from networkx import DiGraph

from spnc import checks
from spnc.checking import check_recipe
from spnc.common.gc_pause import gc_paused
from spnc.diagnostics import Diagnostic, InputError, Sink, in_reading_order, read_source
from spnc.graph.files import read_circuit
from spnc.graph.interchange import from_networkx, from_node_link
from spnc.graph.nodes import Graph
from spnc.model import Model, read_model
from spnc.pipeline import Trained, compile_recipe, lower_graph, need_backend, train_compiled
from spnc.search.auto.budget import DEFAULT, Budget, read_budget
from spnc.search.auto.loop import auto
from spnc.search.auto.start import read_start
from spnc.search.grid import search
from spnc.spec.files import kind_of
from spnc.spec.override import refuse
from spnc.spec.read import read_recipe, recipe_from
from spnc.spec.recipe import Recipe

if TYPE_CHECKING:
    import networkx as nx


def check(
    thing: str | Path | Mapping[str, Any] | nx.DiGraph[Any], *, allow_plugins: bool = False
) -> list[Diagnostic]:
    """Everything that is wrong with a spec, a circuit or a model; an empty list if nothing is.

    `thing` is the path of any file spnc knows, a networkx graph, or a node-link mapping.
    `allow_plugins` permits importing the Python files that a spec names under `plugins`.
    """
    sink = Sink()
    try:
        check_thing(thing, sink, allow_plugins=allow_plugins)
    except InputError as error:
        return list(error.diagnostics)
    return in_reading_order(sink.diagnostics)


def check_thing(
    thing: Any, sink: Sink, settings: Sequence[str] | str = (), *, allow_plugins: bool = False
) -> tuple[Recipe | Graph | Model, list[str]]:
    """What was given, all of it looked at, and lines about what was and was not; stops at errors.

    For a spec, that includes the data and the circuits that it names, as far as they are here.
    """
    found = read_thing(thing, sink, settings, allow_plugins=allow_plugins)
    notes = check_recipe(found, sink) if isinstance(found, Recipe) else []
    sink.stop()
    return found, notes


def compile(
    thing: str | Path | Mapping[str, Any] | nx.DiGraph[Any],
    settings: Sequence[str] | str = (),
    *,
    allow_plugins: bool = False,
) -> Model:
    """The model of a spec before training, or of a circuit. Raises `InputError`.

    `settings` are overrides such as `"optimizer.max_iterations=50"`; `allow_plugins` permits
    importing the Python files that a spec names under `plugins`.
    """
    sink = Sink()
    found = read_thing(thing, sink, settings, allow_plugins=allow_plugins)
    sink.stop()
    if isinstance(found, Model):
        return found
    if isinstance(found, DiGraph):
        program, parameters = lower_graph(found)
        return Model(str(found.graph.get("name", "circuit")), program, parameters)
    return compile_recipe(found, sink).model()


def train(
    spec: str | Path, settings: Sequence[str] | str = (), *, allow_plugins: bool = False
) -> Trained:
    """The trained model of a spec, with its history and scores. Raises `InputError`.

    Of a spec with `search` it is the best on the validation rows, and has all the `tries`.
    `allow_plugins` permits importing the Python files that the spec names under `plugins`.
    Nothing is written; `spnc train` on the command line keeps a run folder.
    """
    sink = Sink()
    recipe = read_recipe(Path(spec), sink, as_settings(settings), allow_plugins=allow_plugins)
    sink.stop()
    assert recipe is not None
    need_backend(recipe, sink)
    sink.stop()
    if recipe.space is not None:
        return search(recipe, sink)
    return train_compiled(compile_recipe(recipe, sink), sink)


def train_auto(
    table: str | Path, budget: str | float = DEFAULT, settings: Sequence[str] | str = ()
) -> Trained:
    """The best model of a table that was found within a time budget. Raises `InputError`.

    `table` is what `data.source` takes, `budget` seconds or a text such as `"10min"`; `settings`
    are overrides such as `"seed=3"`. The answer has all the `tries`, and its `recipe` makes the
    same model again. Nothing is written; `spnc train --auto` keeps a run folder.
    """
    began, sink = time.monotonic(), Sink()
    seconds = read_budget(budget if isinstance(budget, str) else f"{budget:f}", sink)
    start = read_start(str(table), as_settings(settings), sink)
    sink.stop()
    assert seconds is not None
    assert start is not None
    need_backend(start.recipe, sink)
    sink.stop()
    return auto(start, Budget(seconds, began=began), sink)


def load(path: str | Path) -> Model:
    """A saved model. Raises `InputError` if the file is not one."""
    sink = Sink()
    model = read_model(Path(path), sink)
    sink.stop()
    assert model is not None
    return model


@gc_paused()
def read_thing(
    thing: Any, sink: Sink, settings: Sequence[str] | str = (), *, allow_plugins: bool = False
) -> Recipe | Graph | Model:
    """A recipe, a checked graph or a model from whatever a user may have; stops at errors."""
    found: Any
    settings = as_settings(settings)
    if isinstance(thing, str | Path):
        found = _read_file(Path(thing), sink, settings, allow_plugins=allow_plugins)
    elif isinstance(thing, Mapping):
        found = from_node_link(thing, sink)
    else:
        found = from_networkx(thing, sink)
    if not isinstance(found, Recipe) and found is not None:
        refuse(settings, sink)
    if isinstance(found, DiGraph):
        checks.check(found, sink)
    elif isinstance(found, Model):
        checks.check(found.graph(), sink)
    sink.stop()
    return found  # type: ignore[no-any-return]


def as_settings(settings: Sequence[str] | str) -> list[str]:
    """Overrides as a list, also if there is just one."""
    return [settings] if isinstance(settings, str) else list(settings)


def _read_file(path: Path, sink: Sink, settings: Sequence[str], *, allow_plugins: bool) -> Any:
    if path.suffix.lower() == ".spnc":
        return read_model(path, sink)
    source = read_source(path, sink)
    if source is None:
        return None
    kind = kind_of(path, source.text, sink)
    if kind in ("circuit", "node-link"):
        return read_circuit(source, sink)
    if kind is None:
        return None
    return recipe_from(source, sink, settings, allow_plugins=allow_plugins)

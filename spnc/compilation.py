"""From a recipe to a program: data, components, links, checks, passes, lowering, in this order.

    Recipe -> prepare -> learn_forest -> link_and_lower -> Compiled

Every stage reports what it finds into one sink; `sink.stop()` after it ends the run if any of
that is an error. A search calls the stages from `learn_forest` on for each of its tries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from spnc import checks, passes
from spnc.backends import Backend
from spnc.checks.array_proof import is_plainly_valid
from spnc.common.deadline import NEVER, Deadline
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer, Stage
from spnc.common.rng import random_stream
from spnc.common.savepoints import NOTHING_KEPT, Savepoints, UnusableError
from spnc.common.workers import SERIAL, Workers
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.forest.grow import grow, put_top_sum
from spnc.forest.pretraining import pretrain
from spnc.graph.circuit_arrays import recorded_circuit
from spnc.graph.forest import Forest
from spnc.graph.nodes import Graph
from spnc.learners.support.warps import warped_for
from spnc.model import Model
from spnc.passes.on_arrays import run_on_arrays
from spnc.program.lower import lower, lower_arrays
from spnc.program.program import Parameters, Program
from spnc.registry.usage import plugin_record, used_plugins
from spnc.residuals import LinkingTask
from spnc.runs.kept_circuit import (
    KeptCircuit,
    keep_circuit,
    kept_circuit,
    of_circuit,
    of_forest,
)
from spnc.runs.lock import recipe_text, versions
from spnc.runs.preparation import Purpose, prepare
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import one_recipe_only

Dump = Callable[[str, Graph], None]  # called with a stage's name and the graph it left


class Keeping(Protocol):
    """Where a run keeps its work, and where it reads data from that it has kept."""

    @property
    def read_data(self) -> Callable[..., Dataset | None] | None:
        """Reads data in place of `spnc.data.load.load`, if there are kept ones."""
        ...

    def keep_work(self, recipe: Recipe, dataset: Dataset) -> Savepoints:
        """Return where what is learned is kept."""
        ...


class KeepNothing:
    """Keeps no work, and reads data from their files."""

    read_data = None

    def keep_work(self, recipe: Recipe, dataset: Dataset) -> Savepoints:
        """Return savepoints that keep nothing."""
        del recipe, dataset
        return NOTHING_KEPT


KEEP_NOTHING = KeepNothing()


class Grown(NamedTuple):
    """What validation rows have chosen while a forest was grown, by entry."""

    shares: Mapping[int, float]  # in the sum on top
    fits: tuple[tuple[int, int], ...]  # a kept iteration for each component fitted alone


@dataclass(frozen=True, eq=False)
class Compiled:
    """A recipe turned into a program that is ready for training."""

    recipe: Recipe
    dataset: Dataset
    program: Program
    parameters: Parameters
    seconds: Mapping[str, float] = field(default_factory=dict)
    grown: Grown | None = None  # if the forest was grown now, and not kept by an earlier run

    def model(self) -> Model:
        """Return the model before training."""
        return model_of(self, self.parameters, self.recipe.backend)


@gc_paused()
def compile_recipe(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    dump: Dump | None = None,
    *,
    purpose: Purpose = Purpose.COMPILE,
    keeping: Keeping = KEEP_NOTHING,
    deadline: Deadline = NEVER,
    workers: Workers = SERIAL,
    settle: Callable[[Dataset], Recipe] | None = None,
) -> Compiled:
    """Structure, links, checks, passes, lowering; no parameter training.

    `keeping` is where a run that may be killed keeps what it has read and learned. `workers` learn
    components. `settle` returns the recipe to compile, once the data are known.
    """
    observer, seconds = observer or Observer(), {"data": 0.0}
    one_recipe_only(recipe, sink)
    sink.stop()
    with timed(seconds, "data"):
        dataset = sink.require(prepare(recipe, sink, observer, purpose, read=keeping.read_data))
        dataset = warped_for(recipe, dataset)
    savepoints = keeping.keep_work(recipe, dataset)
    if settle is not None:
        recipe = settle(dataset)
    compiled = compiled_before(recipe, dataset, sink, savepoints)
    if compiled is None:
        forest = learn_forest(
            recipe, dataset, sink, observer, seconds, deadline, savepoints, workers
        )
        compiled = link_and_lower(
            recipe,
            dataset,
            forest,
            sink,
            observer,
            seconds,
            deadline=deadline,
            dump=dump,
            savepoints=savepoints,
        )
        of_forest(savepoints, recipe).drop("")
    return compiled


def compile_rows(
    recipe: Recipe,
    dataset: Dataset,
    sink: Sink,
    observer: Observer,
    deadline: Deadline = NEVER,
    *,
    workers: Workers = SERIAL,
) -> Compiled:
    """Compile a recipe that has been verified, over rows that have been read."""
    dataset, seconds = warped_for(recipe, dataset), {"data": 0.0}
    forest = learn_forest(recipe, dataset, sink, observer, seconds, deadline, workers=workers)
    return link_and_lower(recipe, dataset, forest, sink, observer, seconds, deadline=deadline)


def compiled_before(
    recipe: Recipe, dataset: Dataset, sink: Sink, savepoints: Savepoints
) -> Compiled | None:
    """Return what an earlier run has compiled and kept, before it was killed."""
    kept = kept_circuit(savepoints, recipe, dataset)
    if kept is None:
        return None
    sink.diagnostics += kept.warnings
    return Compiled(recipe, dataset, kept.program, kept.parameters, kept.seconds)


@gc_paused()
def learn_forest(
    recipe: Recipe,
    dataset: Dataset,
    sink: Sink,
    observer: Observer,
    seconds: dict[str, float],
    deadline: Deadline = NEVER,
    savepoints: Savepoints = NOTHING_KEPT,
    workers: Workers = SERIAL,
) -> Forest:
    """Learn every component. Links and the sum on top are still to come."""
    deadline.check()
    observer.stage(Stage.STRUCTURE)
    with timed(seconds, "structure"), _fitting(savepoints, sink):
        forest = grow(
            recipe.forest,
            dataset,
            smoothing=recipe.smoothing,
            seed=recipe.seed,
            sink=sink,
            progress=observer.progress,
            deadline=deadline,
            backend=recipe.backend.resolved(),
            objective=recipe.objective,
            savepoints=of_forest(savepoints, recipe),
            workers=workers,
            fits_shares=recipe.shares == "fitted",
        )
        sink.stop()
        savepoints.settle()  # links change the forest
    return forest


@gc_paused()
def link_and_lower(
    recipe: Recipe,
    dataset: Dataset,
    forest: Forest,
    sink: Sink,
    observer: Observer,
    seconds: dict[str, float],
    *,
    deadline: Deadline = NEVER,
    dump: Dump | None = None,
    savepoints: Savepoints = NOTHING_KEPT,
) -> Compiled:
    """Draw residual links, put the sum on top, check, optimise and lower. Changes the forest."""
    deadline.check()
    grown = Grown(forest.entry_shares, forest.fits)
    warned = len(sink.diagnostics)
    observer.stage(Stage.LINKS)
    with timed(seconds, "residual"), _fitting(savepoints, sink):
        rng = random_stream(recipe.seed, "residual")
        rows, backend = dataset.distinct["train"], recipe.backend.resolved()
        own = of_circuit(savepoints, recipe)
        fit_some = partial(
            pretrain, forest, rows, recipe.smoothing, backend, savepoints=own, deadline=deadline
        )
        task = LinkingTask(
            forest, dataset, rng, sink, observer.progress, backend, fit_some, deadline, own
        )
        forest = recipe.residual.link(task)
        sink.stop()

    deadline.check()
    observer.stage(Stage.LOWERING)
    with timed(seconds, "compile"):
        put_top_sum(forest)
        lowered = _lowered_arrays(forest) if dump is None else None
        if lowered is None:
            graph = forest.builder.graph
            if dump is not None:
                dump("forest", graph)
            checks.check(graph, sink)
            sink.stop()
            lowered = lower_graph(graph, dump, keep=False)
        program, parameters = lowered
    warnings = sink.diagnostics[warned:]
    keep_circuit(savepoints, recipe, KeptCircuit(program, parameters, seconds, warnings))
    return Compiled(recipe, dataset, program, parameters, seconds, grown)


def _lowered_arrays(forest: Forest) -> tuple[Program, Parameters] | None:
    """Check, optimise and lower a forest that has not become a graph: the same on flat arrays.

    Return None if that needs the graph, for example to say what is wrong with it.
    """
    circuit = recorded_circuit(forest.builder)
    if circuit is None or not is_plainly_valid(circuit):
        return None
    optimised = run_on_arrays(circuit)
    return lower_arrays(optimised) if optimised is not None else None


@gc_paused()
def lower_graph(
    graph: Graph, dump: Dump | None = None, *, keep: bool = True
) -> tuple[Program, Parameters]:
    """Run the passes over a checked graph and lower it; `keep` leaves the graph as it was."""
    return lower(passes.run(graph, passes.BEFORE_TRAINING, dump, keep=keep))


def circuit_model(graph: Graph, dump: Dump | None = None, *, optimise: bool = True) -> Model:
    """Return the model of a checked circuit that no recipe made; node by node if not `optimise`."""
    program, parameters = lower_graph(graph, dump) if optimise else lower(graph)
    used = used_plugins([], [table.distribution for table in program.leaves])
    name = str(graph.graph.get("name", "circuit"))
    return Model(name, program, parameters, plugin_record(used))


def model_of(compiled: Compiled, parameters: Parameters, backend: Backend) -> Model:
    """Return a compiled recipe with these parameters as a model, which knows where it is from."""
    rules = compiled.dataset.rules.as_json()
    provenance = {
        "recipe": recipe_text(compiled.recipe),
        "data": compiled.dataset.digest,
        "versions": versions(),
        **({"table": rules} if rules else {}),
        **plugin_record(
            used_plugins([compiled.recipe], [t.distribution for t in compiled.program.leaves])
        ),
    }
    return Model(compiled.recipe.model, compiled.program, parameters, provenance, backend)


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that the work inside takes under a name."""
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began


@contextmanager
def _fitting(savepoints: Savepoints, sink: Sink) -> Iterator[None]:
    """Report kept work that does not fit the stage inside (E403)."""
    try:
        yield
    except UnusableError as error:
        sink.error(
            "E403",
            "the kept work is not that of this run",
            where=savepoints.place,
            notes=[str(error)],
            help="delete this folder, and resume: what was kept is then learned again",
        )
        sink.stop()

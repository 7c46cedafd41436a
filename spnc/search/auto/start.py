"""What a person has given to `--auto`: the recipe that every try begins from."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace

from spnc.backends import Backend
from spnc.common.observer import Observer
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink, Source
from spnc.runs.preparation import prepare, report_no_validation_rows
from spnc.search.auto.board import components
from spnc.spec.override import COMMAND_LINE, override
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import bind_recipe
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence

DEFAULT_BUDGET = "10min"
SPLIT = (0.8, 0.1, 0.1)  # of a table that does not come with splits of its own
PINS = ("residual", "smoothing")  # what a person may fix of all that is chosen
_CHOSEN = ("spnc", "forest", "optimizer", "objective", "prune", "search", "lock")


@dataclass(frozen=True, eq=False)
class Start:
    """What a person has said: the data, the seed, the backend, and what is not to be chosen."""

    recipe: Recipe  # placeholder forest, never trained
    pins: tuple[str, ...] = ()

    def pinned(self, recipe: Recipe) -> Recipe | None:
        """Return a proposal with what the person has fixed; None if the two do not go together."""
        changes = {name: getattr(self.recipe, name) for name in self.pins}
        recipe = replace(recipe, **changes)
        return None if recipe.residual.draws and components(recipe) < 2 else recipe


def read_start(table: str, settings: Many[str], sink: Sink) -> Start | None:
    """Return the start of `--auto TABLE --set …`, or None after reporting what is wrong with it."""
    source = Source(COMMAND_LINE, f"--auto {table}")
    span = source.span_at(7, 7 + max(1, len(table)))
    roots = [setting.partition("=")[0].split(".")[0] for setting in settings]
    for setting, root in zip(settings, roots, strict=True):
        if root in _CHOSEN:
            line = Source(COMMAND_LINE, f"--set {setting}")
            sink.error(
                "E136",
                f"`{root}` cannot be set: choosing it is what --auto does",
                line.span_at(6, 6 + len(root)),
                help="`data`, `model`, `seed`, `backend`, `smoothing` and `residual` can be set; "
                "for the rest, edit the recipe.yaml of a finished run",
            )

    def text(value: str) -> Scalar:
        return Scalar(value, value, span, quoted=True)

    def mapping(**values: Scalar | Mapping | Sequence) -> Mapping:
        return Mapping(tuple(Entry(key, span, value) for key, value in values.items()), span)

    # With files for the other splits, the table is that of the training rows.
    files = any(s.startswith(("data.valid=", "data.test=")) for s in settings)
    data = mapping(train=text(table)) if files else mapping(source=text(table))
    two = Scalar(2, "2", span)  # so that links between components can be asked for
    entry = mapping(learner=text("hclt"), count=two)
    tree = mapping(model=text(model_name(table)), data=data, forest=Sequence((entry,), span))
    recipe = bind_recipe(override(tree, settings, sink), span, sink)
    if recipe is None or sink.failed:
        return None
    if recipe.plugins is not None:
        sink.error(
            "E136",
            "`plugins` cannot be set: it names files beside a spec, and --auto has none",
            recipe.span_of("plugins"),
            help="name the file before the command: spnc --plugin FILE train --auto …",
        )
        return None
    if recipe.data.folds is not None:
        sink.error(
            "E136",
            "parts cannot be held out in turn: --auto looks at validation rows as it trains",
            recipe.data.span_of("valid"),
            help="leave it out, or use a spec with `search`",
        )
        return None
    if recipe.limits is not None and recipe.limits.time is not None:
        sink.error(
            "E136",
            "`limits.time` cannot be set: --auto spends the time that --budget gives it",
            recipe.limits.span_of("time"),
            help="give the time with --budget; `limits.memory` can be set",
        )
        return None
    if recipe.space is not None:
        chosen = recipe.space.choices[0]
        sink.error(
            "E136",
            f"`{chosen.name}` cannot be searched for: choosing is what --auto does",
            chosen.span,
            help=f"give `{chosen.path[0]}` one value, or leave it to --auto",
        )
        return None
    return Start(recipe, tuple(name for name in PINS if name in roots))


def load_libraries(backend: Backend) -> None:
    """Import what tries need, so that the first try is not timed as a slow one."""
    import scipy.sparse.csgraph
    import scipy.special
    import scipy.stats.qmc  # noqa: F401

    from spnc.learners.support.clustering import thread_pools

    thread_pools()
    backend.resolved()


def model_name(table: str) -> str:
    """Return a name for the model: that of the table, without folders and endings."""
    last = re.split(r"[/\\:]", table.rstrip("/\\"))[-1]
    stem = last.lstrip(".").split(".")[0]
    return stem.strip() or "table"


def read_data(
    start: Start,
    sink: Sink,
    observer: Observer,
    read: Callable[..., Dataset | None] | None = None,
) -> tuple[Start, Dataset]:
    """Return the dataset, and the start with a recipe that says how it was cut; stop at errors.

    Data without splits of its own is cut by `SPLIT`, unless the person has said how.
    """
    recipe = start.recipe
    dataset = sink.require(
        prepare(recipe, sink, observer, default_split=SPLIT, read=read, auto=True)
    )
    if "valid" not in dataset.splits:
        named = f"the splits are: {', '.join(dataset.splits)}"
        has_splits = recipe.data.source is not None and not dataset.cut
        report_no_validation_rows(recipe, [named], sink, has_splits=has_splits)
        sink.stop()
    if dataset.cut and recipe.data.split is None:
        recipe = replace(recipe, data=replace(recipe.data, split=SPLIT))
    return replace(start, recipe=recipe), dataset

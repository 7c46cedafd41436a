"""What has to be in order before a run: the data, the lock, every plug-in, the backend."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from spnc.common.observer import Observer, Stage
from spnc.data.dataset import Dataset
from spnc.data.load import is_available, load
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink
from spnc.registry import nested_options
from spnc.runs.lock import check_lock
from spnc.runs.sample_warning import warn_of_sample, warn_of_sample_for_auto
from spnc.spec.recipe import Recipe


class Purpose(Enum):
    """What a recipe is prepared for: what may be downloaded, and what has to be in order."""

    TRAIN = "train"  # data may be downloaded; plug-ins and the backend must be usable
    COMPILE = "compile"  # the same, but nothing is computed on the backend
    CHECK = "check"  # as to compile, but nothing is downloaded: absent data is not looked at
    REPORT = "report"  # data and lock alone, and nothing is downloaded


def prepare(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    purpose: Purpose = Purpose.TRAIN,
    *,
    default_split: tuple[float, float, float] | None = None,
    read: Callable[..., Dataset | None] | None = None,
    auto: bool = False,
) -> Dataset | None:
    """Load the data and report everything that would end a run before anything is learned.

    That is: the lock, every plug-in's `verify`, validation rows for a search, and the backend.
    Return None if the data cannot be had. `default_split` is for data without splits of its own.
    `read` takes the place of `load` for a run that has kept its data. With `auto`, the forest and
    the optimizer are still to be chosen.
    """
    observer = observer or Observer()
    trouble = recipe.backend.why_not() if purpose is Purpose.TRAIN else None
    if trouble is not None:
        sink.diagnostics.append(trouble)
    observer.stage(Stage.DATA)
    dataset = None
    offline = purpose in (Purpose.CHECK, Purpose.REPORT)
    # Nothing is downloaded for a run that cannot start.
    only_local = purpose is Purpose.CHECK or trouble is not None
    if not only_local or is_available(recipe.data):
        dataset = (read or load)(
            recipe.data,
            sink,
            offline=offline,
            progress=observer.progress,
            default_split=default_split,
        )
    if dataset is not None:
        if auto:
            warn_of_sample_for_auto(recipe.data, dataset, sink)
        else:
            warn_of_sample(_tries(recipe), dataset, sink)
        check_lock(recipe, dataset, sink)
        if recipe.data.folds is not None:
            _verify_folds(recipe.data, dataset, sink)
        elif recipe.space is not None and "valid" not in dataset.splits:
            searched = f"searched for: {', '.join(c.name for c in recipe.space.choices)}"
            report_no_validation_rows(recipe, [searched], sink)
        elif recipe.shares == "fitted" and "valid" not in dataset.splits:
            message = "shares are fitted to validation rows, and the data has none"
            report_no_validation_rows(recipe, [], sink, message=message)
    if purpose is not Purpose.REPORT:
        verify_plugins(recipe, dataset, sink)
    return dataset


def _verify_folds(options: DataOptions, dataset: Dataset, sink: Sink) -> None:
    """Report rows that cannot be divided into folds: in partitions (E142), or too few (E306)."""
    rows, count = dataset.splits["train"].rows, options.folds or 0
    if dataset.sampled or options.shards is not None:
        sink.error(
            "E142",
            "rows in partitions cannot be held out in turn",
            options.span_of("valid"),
            help="they are many: hold out a part of them with `split: [0.8, 0.1, 0.1]`",
        )
    elif rows < count:
        sink.error(
            "E306",
            f"{rows:,} rows cannot be divided into {count:,} parts",
            options.span_of("valid"),
            help="hold out fewer parts",
        )


def verify_plugins(recipe: Recipe, dataset: Dataset | None, sink: Sink) -> None:
    """Ask every plug-in of a recipe, or of all tries of a search, whether it can be used."""
    # Most tries have most plug-ins in common.
    for options in dict.fromkeys(each for one in _tries(recipe) for each in nested_options(one)):
        options.verify(dataset, sink)


def _tries(recipe: Recipe) -> list[Recipe]:
    """Return the recipes of all tries of a search, or the only one."""
    return [one.recipe for one in recipe.space.tries] if recipe.space is not None else [recipe]


def report_no_validation_rows(
    recipe: Recipe,
    notes: list[str],
    sink: Sink,
    *,
    has_splits: bool = False,
    message: str = "the best try is chosen on validation rows, and the data has none",
) -> None:
    """Report that there is nothing to choose by (E135). Data with its own splits is not cut."""
    help_text = "cut some off with `split: [0.8, 0.1, 0.1]`, or name a file with `valid`"
    if has_splits:
        help_text = "the data comes with its own splits: put one named `valid` beside them"
    sink.error(
        "E135",
        message,
        recipe.data.span_of("split"),
        notes=notes,
        help=help_text,
    )

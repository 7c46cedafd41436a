"""What of a recipe works on a sample of a large table, and what on all of its rows (W318)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spnc.data.dataset import Dataset
from spnc.data.options import DataOptions
from spnc.data.parted import PartedTable
from spnc.diagnostics import Sink, listed
from spnc.registry.reads import reads_of
from spnc.spec.recipe import Component, Recipe


def warn_of_sample(recipes: Sequence[Recipe], dataset: Dataset, sink: Sink) -> None:
    """Warn of what works on a sample of the training rows, in any of these recipes (W318).

    They differ only in what a search chooses.
    """
    rows = dataset.splits.get("train")
    if not isinstance(rows, PartedTable):
        return
    clauses = [clause for clause in _clauses(recipes, dataset) if clause]
    if not clauses:
        return
    notes = [*clauses[1:], *_sums(recipes, dataset)]
    if all(_is_fitted_to_all_rows(recipe) for recipe in recipes):
        notes.append("parameters are fitted to all rows, in partitions")
    _warn(f"{clauses[0]} {_size(rows)}", notes, recipes[0].data, sink)


def warn_of_sample_for_auto(data: DataOptions, dataset: Dataset, sink: Sink) -> None:
    """Warn that `--auto` may choose what works on a sample of the training rows (W318)."""
    rows = dataset.splits.get("train")
    if isinstance(rows, PartedTable):
        message = f"most learners that --auto tries learn from a sample {_size(rows)}"
        _warn(message, ["parameters are fitted to all rows, in partitions"], data, sink)


def _warn(message: str, notes: list[str], data: DataOptions, sink: Sink) -> None:
    sink.warning(
        "W318",
        message,
        data.span_of("partition_rows") or data.span_of("source"),
        notes=notes,
        help="set `partition_rows` to have another size of partitions, and of the sample",
    )


def _size(rows: PartedTable) -> str:
    return f"of {rows.sample.rows:,} of {rows.rows:,} rows"


def _clauses(recipes: Sequence[Recipe], dataset: Dataset) -> Iterator[str]:
    """Yield what works on a sample, in words; nothing, or an empty text, for what does not."""
    learners = _names(c.learner for c in _components(recipes) if _is_sampled(c, dataset))
    if learners:
        verb = "learns its structure" if len(learners) == 1 else "learn their structure"
        yield f"{_quoted(learners)} {verb} from a sample"
    links = (r.residual for r in recipes if r.residual.draws)
    for template, plugins, method in (
        ("{} judges links by a sample", links, "link"),
        ("{} draws mini-batches from a sample", (r.optimizer for r in recipes), "open"),
        (
            "{} works on a sample",
            (r.objective for r in recipes if r.objective.refines),
            "refine",
        ),
    ):
        names = _names(each for each in plugins if "sample" in reads_of(each, method))
        yield from (template.format(f"`{name}`") for name in names)


def _sums(recipes: Sequence[Recipe], dataset: Dataset) -> Iterator[str]:
    """Yield which learners work on a sample and on sums over all rows."""
    both = _names(
        c.learner
        for c in _components(recipes)
        if _is_sampled(c, dataset) and c.reads & {"columns", "pairs"}
    )
    if both:
        verb = "counts" if len(both) == 1 else "count"
        yield f"{_quoted(both)} {verb} states of columns in all rows"
    fitted = _names(c.learner for c in _components(recipes) if "rows" in c.reads)
    if fitted:
        verb = "fits its" if len(fitted) == 1 else "fit their"
        yield f"{_quoted(fitted)} {verb} first parameters to all rows"


def _components(recipes: Iterable[Recipe]) -> Iterator[Component]:
    return (component for recipe in recipes for component in recipe.forest)


def _is_sampled(component: Component, dataset: Dataset) -> bool:
    """Whether a component is learned from a sample: sums of numbers need ranges, which are."""
    has_numbers = not all(column.is_finite for column in dataset.columns)
    return "sample" in component.reads or (has_numbers and bool(component.reads))


def _is_fitted_to_all_rows(recipe: Recipe) -> bool:
    """Whether the optimizer fits the parameters, and to all rows."""
    optimizer = recipe.optimizer
    has_steps = getattr(optimizer, "max_iterations", None) != 0
    return has_steps and "sample" not in reads_of(optimizer, "open")


def _names(plugins: Iterable[Any]) -> list[str]:
    """Return the names of plug-ins, each once."""
    return list(dict.fromkeys(each.plugin_name for each in plugins))


def _quoted(names: Sequence[str]) -> str:
    return listed([f"`{name}`" for name in names])

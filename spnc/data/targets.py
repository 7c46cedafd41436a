"""Columns that are to be predicted, as specs name them: what can be wrong with the names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink, Span, did_you_mean
from spnc.registry import Conflict


def target_conflicts(target: Sequence[str]) -> Iterator[Conflict]:
    """Report a target without columns, or with one of them twice."""
    if not target:
        yield Conflict("target", "the target is empty", "name the column to predict")
    elif len(set(target)) < len(target):
        yield Conflict("target", "the target has a column twice", "name each column once")


def report_unknown_targets(
    target: Sequence[str], dataset: Dataset, where: Span | None, sink: Sink
) -> bool:
    """Report target columns that are not modelled. Return whether there are any."""
    names = [column.name for column in dataset.columns]
    for name in target:
        if name in names:
            continue
        if name == dataset.rules.weight:
            message = f"the target `{name}` holds the weights of the rows"
            sink.error("E406", message, where, help="name a column that is modelled")
        elif name in dataset.left_out:
            ignored = dataset.left_out[name] == "ignore"
            sink.error(
                "E406",
                f"the target `{name}` is left out of the model",
                where,
                help="remove its rule `ignore` under `columns`"
                if ignored
                else "`spnc data show` says why a column is left out",
            )
        else:
            message = f"there is no column `{name}` to predict"
            sink.error("E320", message, where, help=did_you_mean(name, names))
    return not set(target) <= set(names)

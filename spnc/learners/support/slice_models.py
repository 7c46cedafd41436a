"""The models of slices of data that are not split further."""

from __future__ import annotations

from spnc.data.pairs import PairCounts
from spnc.learners import LearningTask
from spnc.learners.support.chow_liu_trees import add_chow_liu_tree
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.joint_gaussians import add_joint_gaussian
from spnc.learners.support.leaf_choice import SliceOptions
from spnc.learners.support.leaf_fit import DataSlice


def add_slice_model(
    builder: DeferredBuilder,
    task: LearningTask,
    point: AttachPoint | None,
    part: DataSlice,
    options: SliceOptions,
    *,
    pairs: PairCounts | None = None,
) -> None:
    """Add the model of a slice that is not split further; `pairs` are its counts, if known."""
    if options.model == "chow-liu":
        add_chow_liu_tree(builder, task, point, part, pairs=pairs)
    elif options.model == "joint-gaussian":
        add_joint_gaussian(builder, task, point, part, options)
    else:
        builder.add_leaves(point, part)

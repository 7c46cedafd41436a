"""Every structure learner keeps the promises of `spnc.testing`. The tests run over the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spnc.data.columns import Column
from spnc.graph.nodes import Builder
from spnc.graph.text import write_circuit_text
from spnc.learners import Learner
from spnc.registry import LEARNERS
from spnc.testing import LEARNER_PROMISES, Promise
from spnc.testing.forests import small_dataset
from tests.contract.promising import every

# Options that make a learner quick; a new learner is tested with its defaults.
QUICK: dict[str, dict[str, Any]] = {
    "continuous-mixture": {"points": 8, "steps": 6, "settling": 2},
    "extra-spn": {"min_instances": 10},
    "learn-spn": {"min_instances": 10},
}


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "circuit"])
@every(LEARNER_PROMISES)
def test_a_learner_keeps_its_promises(name: str, promise: Promise) -> None:
    learner = LEARNERS[name](**QUICK.get(name, {}))
    for seed in range(promise.seeds):
        promise(learner, seed)


@every(LEARNER_PROMISES)
def test_a_circuit_from_a_file_keeps_them_too(promise: Promise, tmp_path: Path) -> None:
    for seed in range(promise.seeds):
        file = tmp_path / f"{seed}.spn"
        file.write_text(write_circuit_text(independent(small_dataset(seed).columns), "given"))
        learner: Learner = LEARNERS["circuit"](file=str(file))
        promise(learner, seed)


def independent(columns: tuple[Column, ...]) -> Any:
    """A circuit in which every column has a uniform leaf."""
    from spnc.learners.support.leaf_choice import finite_leaf

    builder = Builder(columns)
    leaves = []
    for variable, column in enumerate(columns):
        leaf = finite_leaf(column)
        leaves.append(builder.leaf(variable, leaf.from_row(leaf.default(column))))  # type: ignore[arg-type]
    builder.graph.graph["root"] = builder.product(leaves)
    return builder.graph

"""W318 says what of a recipe works on a sample of a table in partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from spnc.common.observer import Observer
from spnc.diagnostics import Diagnostic, Sink
from spnc.learners import LearningTask
from spnc.learners.chow_liu import ChowLiu
from spnc.registry.reads import SAMPLE, reads_of
from spnc.runs.preparation import Purpose, prepare
from spnc.search.auto.start import read_data, read_start
from spnc.spec.read import recipe_from, spec_source

STATES = {"source": "builtin:asia", "split": [0.8, 0.1, 0.1], "partition_rows": 400}
NUMBERS = {"source": "builtin:penguins", "split": [0.8, 0.1, 0.1], "partition_rows": 100}


def _warning(forest: Any, data: dict[str, Any] = STATES, **more: Any) -> Diagnostic | None:
    sink = Sink()
    source = sink.require(spec_source({"model": "m", "data": data, "forest": forest, **more}, sink))
    prepare(
        sink.require(recipe_from(source, sink, allow_plugins=False)), sink, purpose=Purpose.CHECK
    )
    sink.stop()
    found = [each for each in sink.diagnostics if each.code == "W318"]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("forest", ["chow-liu", "hclt", "rat-spn", ["chow-liu", "hclt"]])
def test_learners_of_sums_are_not_warned_about(forest: Any) -> None:
    assert _warning(forest) is None


def test_nothing_is_sampled_of_a_table_in_memory() -> None:
    assert _warning("learn-spn", {"source": "builtin:asia"}) is None


def test_links_that_look_at_no_rows_are_not_warned_about() -> None:
    forest = [{"learner": "hclt", "count": 2}]
    assert _warning(forest, residual="greedy-bfs") is None


def test_learners_of_a_sample_are_named() -> None:
    one = _warning(["chow-liu", {"learner": "learn-spn", "count": 2}])
    assert one is not None
    assert one.message.startswith("`learn-spn` learns its structure from a sample of ")
    assert one.message.endswith(" of 4,000 rows")
    assert "parameters are fitted to all rows, in partitions" in one.notes
    two = _warning(["extra-spn", "learn-spn", "extra-spn"])
    assert two is not None
    assert two.message.startswith("`extra-spn`, `learn-spn` learn their structure from a sample")


def test_bootstrapped_components_learn_from_a_sample() -> None:
    found = _warning([{"learner": "chow-liu", "bootstrap": True}])
    assert found is not None
    assert "`chow-liu` learns" in found.message
    assert not any("count" in note for note in found.notes)


def test_what_takes_counts_from_all_rows_and_the_rest_from_a_sample() -> None:
    for forest, data in (("continuous-mixture", STATES), ("hclt", NUMBERS)):
        found = _warning(forest, data)
        assert found is not None
        assert f"`{forest}` learns its structure from a sample" in found.message
        assert f"`{forest}` counts states of columns in all rows" in found.notes


def test_links_mini_batches_and_objectives_are_named() -> None:
    forest = [{"learner": "hclt", "count": 2}]
    links = _warning(forest, residual="best-gain")
    assert links is not None
    assert links.message.startswith("`best-gain` judges links by a sample of ")
    batches = _warning(forest, optimizer="sgd")
    assert batches is not None
    assert batches.message.startswith("`sgd` draws mini-batches from a sample of ")
    assert batches.notes == ()
    target = {"kind": "conditional", "target": ["smoking"]}
    both = _warning("learn-spn", objective=target)
    assert both is not None
    assert "`learn-spn` learns" in both.message
    assert "`conditional` works on a sample" in both.notes


def test_parameters_that_are_not_fitted_are_not_said_to_be() -> None:
    found = _warning("learn-spn", optimizer={"max_iterations": 0})
    assert found is not None
    assert found.notes == ()


def test_all_tries_of_a_search_count() -> None:
    forest = [{"learner": "hclt", "states": {"search": [2, 3]}}]
    assert _warning(forest) is None
    forest = [{"learner": "chow-liu", "bootstrap": {"search": [False, True]}}]
    found = _warning(forest)
    assert found is not None
    assert found.message.startswith("`chow-liu` learns its structure from a sample of ")


def test_auto_may_choose_any_learner() -> None:
    sink = Sink()
    start = sink.require(read_start("builtin:asia", ["data.partition_rows=400"], sink))
    read_data(start, sink, Observer())
    (found,) = [each for each in sink.diagnostics if each.code == "W318"]
    assert found.message.startswith("most learners that --auto tries learn from a sample of ")


def test_a_plug_in_reads_a_sample_unless_it_says_otherwise() -> None:
    class Plain:
        def learn(self, task: LearningTask) -> int:
            raise NotImplementedError

    @dataclass(frozen=True, kw_only=True)
    class OtherOptions(ChowLiu):
        """Learns as a Chow-Liu tree does."""

    @dataclass(frozen=True, kw_only=True)
    class OtherWay(ChowLiu):
        """Learns in its own way."""

        def learn(self, task: LearningTask) -> int:
            raise NotImplementedError

    class Counting(OtherWay):
        reads: ClassVar[tuple[str, ...]] = ("columns",)  # type: ignore[assignment]

    class Misspelt(ChowLiu):
        reads: ClassVar[tuple[str, ...]] = ("pair",)  # type: ignore[assignment]

    assert reads_of(Plain(), "learn") == reads_of(Misspelt(), "learn") == SAMPLE
    assert reads_of(OtherOptions(), "learn") == {"pairs"}
    assert reads_of(OtherWay(), "learn") == SAMPLE
    assert reads_of(Counting(), "learn") == {"columns"}

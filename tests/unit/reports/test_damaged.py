"""Changed or damaged metrics of a run are shown or reported, never a traceback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.reports.facts.gather import gather
from spnc.reports.facts.reading import read_run
from spnc.reports.page import assemble
from spnc.runs.files import RunFiles
from spnc.runs.results import metrics_of
from tests.pages import PIXELS, read_page, trained


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("digits"), PIXELS)


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The way to every value inside a value."""
    inside = list(enumerate(value)) if isinstance(value, list) else []
    for key, below in value.items() if isinstance(value, dict) else inside:
        yield (*path, key)
        yield from places(below, (*path, key))


@pytest.mark.parametrize("other", [None, "<b>", -1, 1e300, -1e14, [], {}, [1], True], ids=repr)
def test_metrics_with_another_value_anywhere_are_shown_or_reported(
    digits: Path, tmp_path: Path, other: object
) -> None:
    run = shutil.copytree(digits, tmp_path / "run")
    text = (run / "metrics.json").read_text()
    sink = Sink()
    whole = read_run(run, sink, Observer(), with_data=False)
    assert whole is not None
    facts = gather(whole, None, Observer())
    for path in places(json.loads(text)):
        changed = json.loads(text)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = other
        (run / "metrics.json").write_text(json.dumps(changed))
        found = metrics_of(RunFiles(run), Sink())
        if found is not None:
            again = replace(facts, run=replace(whole, metrics=found))
            read_page(assemble.page(again, assemble.sections(again)))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e200"])
def test_numbers_that_are_none_are_reported_wherever_they_are(
    digits: Path, tmp_path: Path, number: str
) -> None:
    run = shutil.copytree(digits, tmp_path / "run")
    text = (run / "metrics.json").read_text()
    for name in ("avg_ll", "total", "valid"):
        changed = re.sub(rf'("{name}": )-?[0-9.e-]+', rf"\g<1>{number}", text, count=1)
        assert changed != text
        (run / "metrics.json").write_text(changed)
        sink = Sink()
        assert metrics_of(RunFiles(run), sink) is None
        assert [d.code for d in sink.diagnostics] == ["E603"]


def test_a_search_without_its_tries_is_reported(digits: Path, tmp_path: Path) -> None:
    run = shutil.copytree(digits, tmp_path / "run")
    metrics = json.loads((run / "metrics.json").read_text())
    del metrics["search"]["tries"]
    (run / "metrics.json").write_text(json.dumps(metrics))
    sink = Sink()
    assert metrics_of(RunFiles(run), sink) is None
    assert sink.diagnostics[0].notes == ("there is no 'tries'",)

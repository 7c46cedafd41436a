"""The report's own explorer: folded up, started when opened, left out for large circuits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spnc.cli import main
from spnc.reports.page import ask
from tests.browser import BROWSER, WHY_NOT, Tab
from tests.pages import read_page


@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_the_explorer_starts_when_it_is_opened(tab: Tab, pages: dict[str, Path]) -> None:
    tab.open(pages["mixed"])
    assert tab.ask("typeof window.spnc") == "undefined"
    assert tab.ask("document.querySelector('.explore').children.length") == 0
    tab.ask("document.querySelector('#ask summary').click()")
    tab.send(
        "Runtime.evaluate",
        expression="new Promise((go) => requestAnimationFrame(() => setTimeout(go, 50)))",
        awaitPromise=True,
    )
    assert tab.ask("document.querySelectorAll('.explore .card').length") == 6
    assert tab.ask("spnc.ask({species: 'Gentoo'}).possible") is True
    assert tab.troubles() == []
    # Closing and opening it again does not start another one.
    tab.ask("document.querySelector('#ask summary').click()")
    tab.ask("document.querySelector('#ask summary').click()")
    assert tab.ask("document.querySelectorAll('.explore .status').length") == 1


@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_digits_can_be_drawn_in_the_report(tab: Tab, pages: dict[str, Path]) -> None:
    tab.open(pages["digits"])
    tab.ask("document.querySelector('#ask details').open = true")
    tab.send(
        "Runtime.evaluate",
        expression="new Promise((go) => requestAnimationFrame(() => setTimeout(go, 50)))",
        awaitPromise=True,
    )
    assert tab.ask("document.querySelector('.explore .board').width") == 128
    assert tab.troubles() == []


def test_a_large_circuit_is_left_out_with_a_note(
    pages: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = shutil.copytree(pages["asia"].parent, tmp_path / "run")
    monkeypatch.setattr(ask, "MOST_EDGES", 5)
    assert main(["report", str(run), "--quiet", "--backend", "numpy"]) == 0
    page = read_page((run / "report.html").read_text(encoding="utf-8"))
    [section] = [s for s in page.all("section") if s.attributes["id"] == "ask"]
    assert "more than 5" in section.words()
    assert section.all("script") == []
    [script] = [s for s in page.all("script") if "type" not in s.attributes]
    assert "class Evaluator" not in script.text

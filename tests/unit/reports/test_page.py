"""The page about a run is complete, well formed, reproducible, and safe against any names."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from spnc.cli import main
from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.reports.facts.gather import gather
from spnc.reports.facts.reading import read_run
from spnc.reports.page import assemble
from tests.pages import PIXELS, Element, read_page, trained

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script><script>alert(3)</script>",
    "'onload='alert(4)",
    "a&amp;b <!-- c",
    "]]>",
]


def written(run: Path, *more: str) -> str:
    """The page about a run."""
    assert main(["report", str(run), "--quiet", "--backend", "numpy", *more]) == 0
    return (run / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pixels, and a search."""
    return trained(tmp_path_factory.mktemp("digits"), PIXELS)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names that would like to be markup, columns of several states, missing cells."""
    rng = np.random.default_rng(0)
    quoted = ['"' + name.replace('"', '""') + '"' for name in EVIL]
    cells = rng.integers(0, [2, 2, 3, 2, 4, 2], size=(80, 6)).astype(str)
    cells[rng.random(cells.shape) < 0.05] = "?"
    rows = "\n".join([",".join(quoted), *(",".join(r) for r in cells)]) + "\n"
    spec = f"""
model: {json.dumps("</title><script>alert(5)</script>")}
data: {{source: rows.csv, split: [0.7, 0.1, 0.2], header: yes}}
forest:
  - {{learner: extra-spn, count: 3, min_instances: 10}}
optimizer: {{max_iterations: 4}}
backend: numpy
"""
    return trained(tmp_path_factory.mktemp("evil"), spec, rows)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner that fits all parameters, and no iteration after it."""
    spec = """
model: learned
data: {source: builtin:asia, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: continuous-mixture, points: 6, latent: 2, width: 4, steps: 20, settling: 5}
optimizer: {max_iterations: 0}
backend: numpy
"""
    return trained(tmp_path_factory.mktemp("learned"), spec)


@pytest.fixture(scope="module")
def pages(digits: Path, evil: Path, learned: Path) -> dict[str, str]:
    """Pages of several runs, one without its data."""
    return {
        "digits": written(digits),
        "evil": written(evil),
        "without": written(digits, "--no-data"),
        "learned": written(learned),
    }


NAMES = ["digits", "evil", "without", "learned"]


@pytest.fixture(params=NAMES)
def page(request: pytest.FixtureRequest, pages: dict[str, str]) -> Element:
    return read_page(pages[request.param])


# ---- put together well ---------------------------------------------------------------------------


def test_no_two_things_have_the_same_id_and_what_is_referred_to_is_there(page: Element) -> None:
    every = page.all(*{e.tag for e in walk(page)})
    ids = [e.attributes["id"] for e in every if "id" in e.attributes]
    assert len(set(ids)) == len(ids)
    for element in every:
        for name in ("aria-labelledby", "data-source"):
            wanted = element.attributes.get(name)
            assert wanted is None or wanted in ids
        target = element.attributes.get("href") or ""
        assert not target or target.removeprefix("#") in ids
        clip = element.attributes.get("clip-path")
        assert clip is None or clip[5:-1] in ids


def walk(element: Element) -> list[Element]:
    return [element, *(e for child in element.children for e in walk(child))]


def test_there_is_one_title_and_headings_do_not_jump(page: Element) -> None:
    levels = [int(e.tag[1]) for e in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_screen_reader_finds_its_way(page: Element) -> None:
    (html,) = page.all("html")
    assert html.attributes["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer", "title"):
        assert len(page.all(landmark)) == 1, landmark
    links = [a.attributes["href"] for a in page.all("nav")[0].all("a")]
    sections = page.all("section")
    assert links == [f"#{s.attributes['id']}" for s in sections]
    assert any(m.attributes.get("name") == "viewport" for m in page.all("meta"))
    for svg in page.all("svg"):
        assert svg.attributes["role"] == "img"
        assert (svg.attributes.get("aria-label") or "").strip()
    for table in page.all("table"):
        assert table.all("caption")[0].words()
        heads = table.all("thead")[0].all("th")
        assert all(th.attributes["scope"] == "col" for th in heads)
        for row in table.all("tbody")[0].all("tr"):
            assert len(row.children) == len(heads)


def test_every_section_says_what_was_found_in_a_sentence(page: Element) -> None:
    for section in page.all("section"):
        (finding,) = [p for p in section.all("p") if p.has("finding")]
        assert re.fullmatch(r"[A-Z0-9].*\.", finding.words())
        assert "nan" not in finding.words().split()


def test_charts_have_their_numbers_in_a_table(page: Element) -> None:
    for figure in page.all("figure"):
        section = figure
        while section.tag != "section":
            assert section.parent is not None
            section = section.parent
        assert section.all("table")


# ---- alone in the world --------------------------------------------------------------------------


def test_nothing_is_loaded_from_anywhere(pages: dict[str, str]) -> None:
    for text in pages.values():
        page = read_page(text)
        for element in walk(page):
            assert element.tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
            for name in ("src", "srcset", "xlink:href", "action", "poster"):
                assert name not in element.attributes
        assert not re.search(r"https?://", text)
        assert "@import" not in text
        assert not re.search(r"url\((?!#)", text)


def test_only_the_script_of_the_page_may_run(pages: dict[str, str]) -> None:
    for text in pages.values():
        page = read_page(text)
        own = [s for s in page.all("script") if "type" not in s.attributes]
        assert len(own) == 1
        digest = base64.b64encode(hashlib.sha256(own[0].text.encode()).digest()).decode()
        (policy,) = [
            m.attributes["content"]
            for m in page.all("meta")
            if m.attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy is not None
        assert f"script-src 'sha256-{digest}'" in policy
        assert policy.startswith("default-src 'none'")
        for element in walk(page):
            assert not any(name.startswith("on") for name in element.attributes)


def test_names_are_text_wherever_they_stand(pages: dict[str, str]) -> None:
    text = pages["evil"]
    page = read_page(text)
    assert "</title><script>" in page.all("title")[0].words()
    names = page.words()
    for name in EVIL:
        assert name in names
        assert name not in text or name in ("]]>", "'onload='alert(4)")
    for script in page.all("script"):
        if script.attributes.get("type") == "application/json":
            json.loads(script.text)


def test_a_page_is_small(pages: dict[str, str]) -> None:
    assert all(len(text.encode()) < 400_000 for text in pages.values())


def test_the_same_run_gives_the_same_bytes(digits: Path, pages: dict[str, str]) -> None:
    assert written(digits) == pages["digits"]


# ---- what is on it -------------------------------------------------------------------------------


def test_all_sections_are_there_if_the_data_is(pages: dict[str, str]) -> None:
    ids = {
        name: [s.attributes["id"] for s in read_page(t).all("section")] for name, t in pages.items()
    }
    of_data = ["pairs", "columns", "rows", "samples"]
    every = ["summary", "curves", "structure", *of_data, "ask", "tries", "origin"]
    assert ids["digits"] == every
    assert ids["evil"] == [i for i in every if i != "tries"]
    assert ids["without"] == [i for i in every if i not in of_data]
    without = read_page(pages["without"])
    assert "Without the data of the run" in without.words()
    (structure,) = [s for s in without.all("section") if s.attributes["id"] == "structure"]
    assert "flow" not in structure.words()  # of which nothing is known
    assert "of the weight" in structure.words()


def test_the_scores_are_those_of_the_metrics(digits: Path, pages: dict[str, str]) -> None:
    metrics = json.loads((digits / "metrics.json").read_text())
    words = read_page(pages["digits"]).words()
    for split in metrics["splits"].values():
        assert f"{split['avg_ll']:.4f}".replace("-", "\N{MINUS SIGN}") in words
    for one in metrics["search"]["tries"]:
        assert f"{one['valid']:.4f}".replace("-", "\N{MINUS SIGN}") in words


def test_the_recipe_can_be_taken_from_the_page(digits: Path, pages: dict[str, str]) -> None:
    (pre,) = read_page(pages["digits"]).all("pre")
    assert pre.words() == (digits / "recipe.lock.yaml").read_text()


def test_the_curve_is_that_of_the_history(digits: Path, pages: dict[str, str]) -> None:
    scripts = read_page(pages["digits"]).all("script")
    (about,) = [json.loads(s.text) for s in scripts if s.attributes.get("id") == "curves-data"]
    lines = (digits / "history.csv").read_text().splitlines()[1:]
    assert about["x"] == [int(line.split(",")[0]) for line in lines]
    train = about["series"][0]["y"]
    assert train == pytest.approx([float(line.split(",")[1]) for line in lines], rel=1e-6)
    metrics = json.loads((digits / "metrics.json").read_text())
    assert about["kept"] == metrics["optimizer"]["kept_iteration"]


def test_without_an_iteration_there_is_no_curve(pages: dict[str, str]) -> None:
    page = read_page(pages["learned"])
    (curves,) = [s for s in page.all("section") if s.attributes.get("id") == "curves"]
    assert curves.all("svg") == []
    assert "training had no iterations" in curves.words()


def test_what_is_cut_short_says_so(
    digits: Path, monkeypatch: pytest.MonkeyPatch, pages: dict[str, str]
) -> None:
    assert "are listed" not in read_page(pages["without"]).words()
    for place in ("tries.MOST", "circuit.LISTED", "curves._MOST"):
        monkeypatch.setattr(f"spnc.reports.page.{place}", 1)
    sink = Sink()
    run = read_run(digits, sink, Observer(), with_data=False)
    assert run is not None
    facts = gather(run, None, Observer())
    words = read_page(assemble.page(facts, assemble.sections(facts))).words()
    assert "Only the 1 best of 2 tries are listed." in words
    assert f"Only the 1 largest of {len(facts.circuit.parts)} branches are listed." in words
    assert re.search(rf"Only [23] of {len(run.history.iterations)} iterations are listed\.", words)


def test_one_column_is_no_columns(tmp_path: Path) -> None:
    spec = """
model: one
data: {source: rows.csv, split: [0.8, 0.1, 0.1], header: yes}
forest: [{learner: extra-spn, count: 1}]
optimizer: {max_iterations: 1}
backend: numpy
"""
    page = read_page(written(trained(tmp_path, spec, "a\n" + "0\n1\n1\n" * 20)))
    (line,) = [p for p in page.all("p") if p.has("line")]
    assert "rows.csv: 1 column; rows: " in line.words()


def test_colours_are_those_that_browsers_have_had_for_long() -> None:
    style = (resources.files("spnc.reports.page") / "page.css").read_text(encoding="utf-8")
    assert not re.search(r"light-dark\(#|color-mix|@layer|oklch", style)


def test_pixels_are_pictures_unless_that_is_not_wanted(digits: Path, tmp_path: Path) -> None:
    run = shutil.copytree(digits, tmp_path / "run")
    pictures = [s for s in read_page(written(run)).all("svg") if s.has("pixels")]
    assert len(pictures) >= 64
    assert {s.attributes["viewbox"] for s in pictures} == {"0 0 8 8"}
    assert not [s for s in read_page(written(run, "--image", "none")).all("svg") if s.has("pixels")]
    other = [s for s in read_page(written(run, "--image", "4x16")).all("svg") if s.has("pixels")]
    assert {s.attributes["viewbox"] for s in other} == {"0 0 16 4"}


def test_json_says_where_the_page_is_and_what_was_found(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "deep" / "page.html"
    line = ["report", str(digits), "-o", str(target), "--json", "--no-data"]
    assert main(line) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["page"] == str(target)
    assert said["bytes"] == len(target.read_bytes())
    assert said["sections"][0]["id"] == "summary"
    assert said["diagnostics"] == []
    assert main(line[:-2]) == 0
    assert said["sections"][0]["finding"][:20] in capsys.readouterr().out


def test_json_carries_what_was_complained_about(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(evil, tmp_path / "run")  # away from its data
    assert main(["report", str(run), "--json", "--quiet"]) == 0
    assert [d["code"] for d in json.loads(capsys.readouterr().out)["diagnostics"]] == ["W601"]


def test_another_training_into_the_folder_takes_the_page_away(tmp_path: Path, evil: Path) -> None:
    folder = shutil.copytree(evil.parent, tmp_path / "again")
    assert (folder / "run/report.html").is_file() or written(folder / "run")
    line = ["train", str(folder / "spec.yaml"), "--out", str(folder / "run"), "--overwrite"]
    assert main([*line, "--quiet"]) == 0
    assert not (folder / "run/report.html").exists()


def test_a_shape_that_is_none_is_a_question_of_usage(digits: Path) -> None:
    with pytest.raises(SystemExit) as end:
        main(["report", str(digits), "--image", "8by8"])
    assert end.value.code == 2

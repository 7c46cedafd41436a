"""`spnc.report`: the page about a run, from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spnc
from tests.pages import trained

SPEC = """
model: asia
data: {source: builtin:asia, split: [0.7, 0.15, 0.15]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 500}
optimizer: {max_iterations: 2}
backend: numpy
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("asia"), SPEC)


def test_the_page_goes_into_the_run_folder(run: Path) -> None:
    page = spnc.report(run, backend="numpy")
    assert page == run / "report.html"
    assert 'id="samples"' in page.read_text(encoding="utf-8")


def test_the_page_goes_where_it_is_wanted_and_says_what_the_command_says(
    run: Path, tmp_path: Path
) -> None:
    page = spnc.report(str(run), tmp_path / "page.htm", backend="numpy")
    assert page == tmp_path / "page.htm"
    assert page.read_bytes() == spnc.report(run, backend="numpy").read_bytes()


def test_a_page_without_data_says_so(run: Path, tmp_path: Path) -> None:
    text = spnc.report(run, tmp_path / "page.html", with_data=False).read_text(encoding="utf-8")
    assert 'id="samples"' not in text
    assert "left out on request" in text


def test_rows_are_pictures_only_where_that_is_wanted(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    pictures = spnc.report(run, page, image=(2, 4), backend="numpy").read_text(encoding="utf-8")
    assert 'class="gallery twins"' in pictures
    plain = spnc.report(run, page, image="none", backend="numpy").read_text(encoding="utf-8")
    assert 'class="gallery twins"' not in plain


def test_all_that_is_wrong_is_raised_together(run: Path, tmp_path: Path) -> None:
    with pytest.raises(spnc.InputError) as caught:
        spnc.report(run, tmp_path / "page.pdf", image=(3, 3), backend="nump")
    assert {d.code for d in caught.value.diagnostics} == {"E602", "E604", "E109"}
    assert not (tmp_path / "page.pdf").exists()


def test_an_image_that_is_no_size_is_a_diagnostic(run: Path) -> None:
    with pytest.raises(spnc.InputError) as caught:
        spnc.report(run, image="2x4", with_data=False)  # type: ignore[arg-type]
    assert [d.code for d in caught.value.diagnostics] == ["E604"]


def test_a_place_that_cannot_be_written_is_a_diagnostic(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(spnc.InputError) as caught:
        spnc.report(run, tmp_path / "file" / "page.html", with_data=False)
    assert [d.code for d in caught.value.diagnostics] == ["E120"]


def test_the_function_is_not_hidden_by_a_package() -> None:
    """Importing every module of reports must not replace `spnc.report` by a module."""
    script = (
        "import pkgutil, importlib, spnc, spnc.reports, spnc.cli.commands.report\n"
        "for found in pkgutil.walk_packages(spnc.reports.__path__, 'spnc.reports.'):\n"
        "    importlib.import_module(found.name)\n"
        "assert callable(spnc.report), spnc.report\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

"""Write the page about a run: read the folder, compute the facts, assemble the HTML, save it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spnc.backends import Backend
from spnc.common.atomic import write_text
from spnc.common.observer import Observer
from spnc.data.images import ImageSize, chosen_shape
from spnc.diagnostics import Sink, did_you_mean, writing
from spnc.explore.page import check_suffix
from spnc.registry import BACKENDS
from spnc.reports.facts.gather import gather
from spnc.reports.facts.reading import read_run
from spnc.reports.page.assemble import page, sections
from spnc.reports.page.parts import Section
from spnc.runs.files import RunFiles


@dataclass(frozen=True, eq=False)
class WrittenPage:
    """A page that was written: where, how large, and what it says."""

    path: Path
    size: int  # bytes
    with_data: bool  # whether the run's data was found and used
    sections: Sequence[Section]


def report(
    run: str | Path,
    out: str | Path | None = None,
    *,
    image: ImageSize = None,
    with_data: bool = True,
    backend: str = "auto",
    allow_plugins: bool = False,
) -> Path:
    """Write one HTML page about a finished run and return its path. Raises `InputError`.

    `run` is a folder that `spnc train` wrote; `out` is an .html file, by default `report.html` in
    the run folder. `image` is the shape of rows that are pictures, as (lines, columns) of pixels,
    or "none"; by default the names of the columns decide. With `with_data=False`, or where the
    data of the run cannot be read, the page leaves out the parts that need the data and says so.
    `allow_plugins` permits importing the Python files that the run's spec names under `plugins`.
    """
    written = write_report(
        run,
        out,
        Sink(),
        Observer(),
        image=image,
        with_data=with_data,
        backend=backend,
        allow_plugins=allow_plugins,
    )
    return written.path


def write_report(
    run: str | Path,
    out: str | Path | None,
    sink: Sink,
    observer: Observer,
    *,
    image: ImageSize = None,
    with_data: bool = True,
    backend: str = "auto",
    allow_plugins: bool = False,
) -> WrittenPage:
    """Do what `report` does; problems go to `sink`, progress to `observer`."""
    folder = RunFiles(Path(run))
    path = folder.report if out is None else Path(out)
    check_suffix(path, sink)
    chosen = _backend_named(backend, sink)
    found = read_run(folder.path, sink, observer, with_data=with_data, allow_plugins=allow_plugins)
    shape = chosen_shape(image, found.model.columns, sink) if found is not None else None
    finished = sink.require(found)
    finished.model.backend = sink.require(chosen)
    facts = gather(finished, shape, observer)
    observer.stage("writing the page")
    parts = sections(facts)
    text = page(facts, parts)
    with writing(path):
        write_text(path, text)
    return WrittenPage(path, len(text.encode()), finished.dataset is not None, parts)


def _backend_named(name: str, sink: Sink) -> Backend | None:
    if name not in BACKENDS:
        sink.error("E109", f"no backend is named `{name}`", help=did_you_mean(name, BACKENDS))
        return None
    backend: Backend = BACKENDS[name]()
    return backend

"""The public binary datasets: found, checked, downloaded, and never half-written."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spnc.data import debd
from spnc.data.debd_hashes import DEBD_SHA256
from spnc.data.load import is_available, load
from spnc.data.options import DataOptions
from spnc.diagnostics import Diagnostic, Sink
from tests.places import SHARED_DATA

TINY = {"train": b"0,1\n1,0\n1,1\n", "valid": b"0,0\n", "test": b"1,1\n0,1\n"}
NLTCS = DataOptions(source="debd:nltcs")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no data folder, and no server: the user's own are never touched."""
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SPNC_DEBD_URL", "http://127.0.0.1:9/none")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("SPNC_DATA", raising=False)
    return tmp_path / "cache/debd"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real files, where this machine has them."""
    if not (SHARED_DATA / "debd").is_dir():
        pytest.skip("the public datasets are not beside this repository")
    monkeypatch.setenv("SPNC_DATA", str(SHARED_DATA))


@pytest.fixture
def tiny_nltcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny dataset takes the place of the real one, with its hashes."""
    hashes = {split: hashlib.sha256(content).hexdigest() for split, content in TINY.items()}
    monkeypatch.setitem(DEBD_SHA256, "nltcs", hashes)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that a server on this machine shows as the public collection."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path / "www"))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    folder = tmp_path / "www/nltcs"
    folder.mkdir(parents=True)
    for split, content in TINY.items():
        (folder / f"nltcs.{split}.data").write_bytes(content)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("SPNC_DEBD_URL", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()
        thread.join()


def problems(options: DataOptions = NLTCS, *, offline: bool = False) -> list[Diagnostic]:
    sink = Sink()
    assert (load(options, sink, offline=offline) is None) == sink.failed
    return sink.diagnostics


def test_there_are_twenty_datasets_of_three_files_with_different_hashes() -> None:
    assert len(DEBD_SHA256) == 20
    hashes = [h for splits in DEBD_SHA256.values() for h in splits.values()]
    assert len(set(hashes)) == 60
    assert all(len(h) == 64 and int(h, 16) for h in hashes)
    assert [entry.name for entry in debd.debd_entries()] == sorted(DEBD_SHA256)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("name", "columns", "rows"),
    [
        ("nltcs", 16, (16181, 2157, 3236)),
        ("msnbc", 17, (291326, 38843, 58265)),
        ("plants", 69, (17412, 2321, 3482)),
        ("jester", 100, (9000, 1000, 4116)),
        ("baudio", 100, (15000, 2000, 3000)),
        ("bnetflix", 100, (15000, 2000, 3000)),
    ],
)
def test_the_real_datasets_have_their_published_sizes(
    name: str, columns: int, rows: tuple[int, ...]
) -> None:
    sink = Sink()
    dataset = load(DataOptions(source=f"debd:{name}"), sink, offline=True)
    assert dataset is not None
    assert sink.diagnostics == []
    assert dataset.name == f"debd:{name}"
    assert [c.name for c in dataset.columns] == [f"x{i}" for i in range(columns)]
    assert {str(c) for c in dataset.columns} == {"binary"}
    assert tuple(t.rows for t in dataset.splits.values()) == rows
    assert list(dataset.splits) == ["train", "valid", "test"]


@pytest.mark.usefixtures("shared")
def test_the_listing_says_where_a_dataset_is() -> None:
    found = {entry.name: entry.found for entry in debd.debd_entries()}
    assert found["nltcs"] == SHARED_DATA / "debd"
    assert found["ad"] is None
    assert is_available(NLTCS)
    assert not is_available(DataOptions(source="debd:ad"))


@pytest.mark.usefixtures("tiny_nltcs", "served")
def test_a_dataset_is_downloaded_once_and_then_read_from_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int, int | None]] = []
    assert not is_available(NLTCS)
    first = load(NLTCS, Sink(), progress=lambda *call: calls.append(call))
    assert first is not None
    assert calls[0] == ("nltcs.train.data", 12, 12)
    assert sorted(p.name for p in cache.iterdir()) == [
        "nltcs.test.data",
        "nltcs.train.data",
        "nltcs.valid.data",
    ]
    assert is_available(NLTCS)
    monkeypatch.setenv("SPNC_DEBD_URL", "http://127.0.0.1:9/none")
    again = load(NLTCS, Sink(), offline=True)
    assert again is not None
    assert again.digest == first.digest
    np.testing.assert_array_equal(first.train.values, [[0, 1], [1, 0], [1, 1]])


@pytest.mark.usefixtures("tiny_nltcs")
def test_wrong_content_is_refused_and_nothing_of_it_is_stored(served: Path, cache: Path) -> None:
    (served / "nltcs.valid.data").write_bytes(b"1,1\n")
    (problem,) = problems()
    assert problem.code == "E310"
    assert "nltcs.valid.data" in problem.message
    assert sorted(p.name for p in cache.iterdir()) == ["nltcs.test.data", "nltcs.train.data"]


@pytest.mark.usefixtures("tiny_nltcs")
def test_a_file_that_the_server_lacks_is_reported_and_the_others_fetched(
    served: Path, cache: Path
) -> None:
    (served / "nltcs.train.data").unlink()
    (problem,) = problems()
    assert problem.code == "E309"
    assert "404" in problem.message
    assert len(list(cache.iterdir())) == 2


def test_an_unreachable_server_is_reported_once_with_what_to_do(cache: Path) -> None:
    (problem,) = problems()
    assert problem.code == "E309"
    assert "$SPNC_DATA/debd" in str(problem.help)
    assert not cache.exists()


def test_offline_nothing_is_downloaded(served: Path, cache: Path) -> None:
    assert {d.code for d in problems(offline=True)} == {"E309"}
    assert not cache.exists()


@pytest.mark.usefixtures("tiny_nltcs", "served")
def test_a_cache_that_cannot_be_written_is_only_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path / "file"))
    assert [d.code for d in problems()] == ["W304"] * 3


@pytest.mark.usefixtures("tiny_nltcs")
def test_files_of_one_s_own_are_found_first_plain_before_compressed_and_checked(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own/debd"
    own.mkdir(parents=True)
    cache.mkdir(parents=True)
    monkeypatch.setenv("SPNC_DATA", str(own.parent))
    for split, content in TINY.items():
        (cache / f"nltcs.{split}.data").write_bytes(b"changed")
        (own / f"nltcs.{split}.data.gz").write_bytes(gzip.compress(content, mtime=0))
    assert problems() == []
    (own / "nltcs.train.data").write_bytes(b"changed")
    (problem,) = problems()
    assert problem.code == "E310"
    assert problem.where == (own / "nltcs.train.data").as_posix()
    (own / "nltcs.train.data").unlink()
    (own / "nltcs.test.data.gz").write_bytes(b"not gzip")
    assert [d.code for d in problems()] == ["E315"]

"""The twenty public binary datasets that density estimators are compared on: `debd:NAME`.

They come from https://github.com/arranger1044/DEBD. A file is looked for in `$SPNC_DATA/debd`,
then in the cache folder; otherwise it is downloaded into the cache. Wherever it comes from, its
SHA-256 must be the one in `debd_hashes`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spnc.common.atomic import write_bytes
from spnc.common.cache import cache_root
from spnc.common.observer import Progress
from spnc.data.builtin import NAME_SIMILARITY
from spnc.data.dataset import SPLITS
from spnc.data.debd_hashes import DEBD_SHA256
from spnc.data.download import DownloadError, download
from spnc.data.file_report import FileReport
from spnc.data.files import read_bytes
from spnc.data.raw_table import RawTable
from spnc.data.text_rules import TextRules
from spnc.data.text_tables import parse_text
from spnc.diagnostics import Sink, Span, listed, nearest

DEBD_URL = "https://raw.githubusercontent.com/arranger1044/DEBD/master/datasets"
_OWN_FILES = "if you have the files, put them into $SPNC_DATA/debd/"


@dataclass(frozen=True, slots=True)
class DebdEntry:
    """One of the twenty datasets, and the folder with its files (None if one has to be fetched)."""

    name: str
    found: Path | None


def debd_entries() -> list[DebdEntry]:
    """Return all datasets by name, and where each was found. Contents are not checked."""
    entries = []
    for name in sorted(DEBD_SHA256):
        places = [_locate(name, split) for split in SPLITS]
        found = None if None in places or places[0] is None else places[0].parent
        entries.append(DebdEntry(name, found))
    return entries


def is_local(name: str) -> bool:
    """Whether no download is needed; True also for an unknown name, which `fetch` reports."""
    return name not in DEBD_SHA256 or all(_locate(name, split) for split in SPLITS)


def read_debd(
    name: str,
    sink: Sink,
    *,
    span: Span | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> dict[str, RawTable] | None:
    """Return the train, valid and test tables; None after reporting a problem."""
    contents = fetch(name, sink, span=span, offline=offline, progress=progress)
    if contents is None:
        return None
    tables = {}
    for split, content in contents.items():
        with FileReport(sink, _file_name(name, split)) as report:
            table = parse_text(content, report, delimiter=",", rules=TextRules("no"))
        if table is not None:
            tables[split] = table
    return tables if len(tables) == len(contents) else None


def fetch(
    name: str,
    sink: Sink,
    *,
    span: Span | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Mapping[str, bytes] | None:
    """Return the verified text of a dataset's files by split, downloading those that are not here.

    Return None after reporting an unknown name (E301), a failed download (E309) or wrong content
    (E310).
    """
    if name not in DEBD_SHA256:
        sink.error("E301", f"there is no dataset `debd:{name}`", span, help=_suggestion(name))
        return None
    contents: dict[str, bytes] = {}
    reachable = True
    for split in SPLITS:
        path = _locate(name, split)
        if path is not None:
            content = _local(path, name, split, sink, span, progress)
        elif offline:
            message = f"`{_file_name(name, split)}` is not here, and this command does not download"
            sink.error("E309", message, span, help=_OWN_FILES)
            content = None
        elif reachable:
            content, reachable = _remote(name, split, sink, span, progress)
        else:
            content = None  # reported for the first file: the server cannot be reached
        if content is not None:
            contents[split] = content
    return contents if len(contents) == len(SPLITS) else None


def cache_folder() -> Path:
    """Return where downloads are stored."""
    return cache_root() / "debd"


def _suggestion(name: str) -> str:
    near = nearest(name, DEBD_SHA256, NAME_SIMILARITY)
    if near is not None:
        return f"did you mean `debd:{near}`? `spnc data list` lists all datasets"
    return f"known after `debd:`: {listed(sorted(DEBD_SHA256), len(DEBD_SHA256))}"


def _file_name(name: str, split: str) -> str:
    return f"{name}.{split}.data"


def _locate(name: str, split: str) -> Path | None:
    """Return the file of a split, in the user's data folder or the cache; None if in neither."""
    own = os.environ.get("SPNC_DATA")
    folders = [Path(own) / "debd"] if own else []
    for folder in [*folders, cache_folder()]:
        for ending in ("", ".gz"):
            path = folder / (_file_name(name, split) + ending)
            if path.is_file():
                return path
    return None


def _local(
    path: Path, name: str, split: str, sink: Sink, span: Span | None, progress: Progress | None
) -> bytes | None:
    """Return the content of a local file; None after reporting that it is not the published one."""
    file = path.as_posix()
    try:
        content = read_bytes(path, progress)
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        broken = isinstance(error, EOFError | zlib.error | gzip.BadGzipFile)
        code = "E315" if broken else "E302"
        sink.error(code, f"`{file}` cannot be read: {error}", span, where=file)
        return None
    if _is_published(content, name, split):
        return content
    message = f"`{file}` is not the published `{_file_name(name, split)}`: its SHA-256 differs"
    hint = "delete the file to have it downloaded again, or give your own file as `source`"
    sink.error("E310", message, span, help=hint, where=file)
    return None


def _remote(
    name: str, split: str, sink: Sink, span: Span | None, progress: Progress | None
) -> tuple[bytes | None, bool]:
    """Download and store a file. Return its content if right, and whether a server replied."""
    file = _file_name(name, split)
    base = os.environ.get("SPNC_DEBD_URL") or DEBD_URL
    url = f"{base.rstrip('/')}/{name}/{file}"
    try:
        content = download(url, file, progress)
    except DownloadError as error:
        message = f"`{file}` could not be downloaded: {error}"
        sink.error("E309", message, span, notes=(f"from {url}",), help=_OWN_FILES)
        return None, error.reached
    if not _is_published(content, name, split):
        message = f"the downloaded `{file}` is not the published one: its SHA-256 differs"
        notes = (f"from {url}", "nothing was stored")
        hint = f"try again later; {_OWN_FILES}"
        sink.error("E310", message, span, notes=notes, help=hint)
        return None, True
    try:
        write_bytes(cache_folder() / file, content)
    except OSError as error:
        message = f"`{file}` was downloaded, but could not be stored: {error.strerror or error}"
        hint = "set SPNC_CACHE to a writable folder"
        sink.warning("W304", message, span, help=hint, where=cache_folder().as_posix())
    return content, True


def _is_published(content: bytes, name: str, split: str) -> bool:
    return hashlib.sha256(content).hexdigest() == DEBD_SHA256[name][split]

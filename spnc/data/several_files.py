"""Tables in several files: which files a folder, or a name with a wildcard, stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spnc.data.compression import COMPRESSIONS, CompressionError, member_name
from spnc.data.files import SUPPORTED, file_type, nearby
from spnc.diagnostics import Sink, Span, listed

_WILDCARDS = re.compile(r"[*?]")
_ALIKE = {".feather": ".arrow", ".ipc": ".arrow", ".ndjson": ".jsonl", ".json": ".jsonl"}
# Programs that write a table as a folder put files beside it whose names begin so, such as
# `_SUCCESS`, `_metadata` and `.part-0.crc`.
_ASIDE = (".", "_")
_SHOWN = 4  # names in a message


@dataclass(frozen=True)
class TableFiles:
    """The files of a table, in order; `path` is the name that stands for them."""

    path: Path
    files: tuple[Path, ...]

    @staticmethod
    def of(path: Path) -> TableFiles | None:
        """Return the files that a path names; None if there are none, or problems with them."""
        if names_several(path):
            return found_files(path, Sink())
        return TableFiles(path, (path,)) if path.is_file() else None


def table_name(path: Path) -> str:
    """Return a name for the table that a path stands for."""
    return path.name or path.resolve().name  # `.` has no name


def names_several(path: Path) -> bool:
    """Whether a path stands for the files of a folder, or for those that match a wildcard."""
    if path.exists():
        return path.is_dir()
    return bool(_WILDCARDS.search(path.name)) or _has_wildcard_folder(path)


def _has_wildcard_folder(path: Path) -> bool:
    """Whether the name of a folder has a wildcard, which stands for nothing there."""
    folder = path.parent
    return bool(_WILDCARDS.search(folder.as_posix())) and not folder.is_dir()


def found_files(
    path: Path, sink: Sink, span: Span | None = None, help: str | None = None
) -> TableFiles | None:
    """Return the files of a table in several files, sorted by name; None after reporting a problem.

    In a folder, these are all files of a type that spnc reads. `help` replaces the advice about
    files that are not there.
    """
    is_folder = path.is_dir()
    folder = path if is_folder else path.parent
    where = path.as_posix()
    if not is_folder and _has_wildcard_folder(path):
        message = f"the folder of `{where}` has a wildcard in its name"
        hint = "`*` and `?` stand for other characters in the names of files only"
        sink.error("E302", message, span, help=help or hint, where=where)
        return None
    try:
        present = sorted(folder.iterdir(), key=lambda each: each.name)
    except OSError as error:
        message = f"the folder `{folder.as_posix()}` cannot be read: {error.strerror}"
        if isinstance(error, FileNotFoundError):
            message = f"no file matches `{where}`: there is no such folder"
        sink.error("E302", message, span, help=help, where=where)
        return None
    chosen = [each for each in present if is_folder or _matches(each.name, path.name)]
    if is_folder or not path.name.startswith(_ASIDE):
        chosen = [each for each in chosen if not each.name.startswith(_ASIDE)]
    files = [each for each in chosen if each.is_file()]
    types = {file: _type_of(file) for file in files}
    if is_folder:
        files = [file for file in files if types[file]]
    if not files:
        _report_none(path, present, sink, span, help)
        return None
    if not _are_of_one_type(path, {file: types[file] for file in files}, sink, span):
        return None
    return TableFiles(path, tuple(files))


def _matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern with `*` and `?`; all else stands for itself."""
    parts = (
        {"*": ".*", "?": "."}.get(part, re.escape(part)) for part in re.split(r"([*?])", pattern)
    )
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None


def _type_of(file: Path) -> str:
    """Return the suffix that stands for the type of a file; empty if spnc does not read it."""
    kind, compressed = file_type(file)
    if compressed == ".zip" and kind not in SUPPORTED:
        try:
            with file.open("rb") as stream:
                kind = Path(member_name(stream)).suffix.lower()
        except (CompressionError, OSError):
            return ""
    return _ALIKE.get(kind, kind) if kind in SUPPORTED else ""


def _report_none(
    path: Path, present: Iterable[Path], sink: Sink, span: Span | None, help: str | None
) -> None:
    """Report that a folder or a pattern stands for no file (E302)."""
    where = path.as_posix()
    names = [f"`{each.name}`" for each in present]
    message, hint = f"no file matches `{where}`", help or nearby(path)
    hint = hint or (f"the folder holds {listed(names, _SHOWN)}" if names else "the folder is empty")
    if path.is_dir():
        message = f"the folder `{where}` holds no table"
        folders = [f"`{each.name}`" for each in present if each.is_dir()]
        hint = help or f"put files of one type in it: {', '.join(SUPPORTED)}"
        if folders and not help:
            hint = f"name a folder in it, whose files are read: {listed(folders, _SHOWN)}"
    sink.error("E302", message, span, help=hint, where=where)


def _are_of_one_type(path: Path, types: dict[Path, str], sink: Sink, span: Span | None) -> bool:
    """Whether files can be one table; report why not (E312)."""
    where = path.as_posix()
    unknown = [file for file, kind in types.items() if not kind]
    for file in unknown:
        message = f"spnc cannot read files of this type: `{file.name}`"
        endings = f"{', '.join(COMPRESSIONS[:-1])} or {COMPRESSIONS[-1]}"
        hint = f"supported: {', '.join(SUPPORTED)}, each also with {endings}"
        sink.error("E312", message, span, help=hint, where=file.as_posix())
    found = sorted(set(types.values()) - {""})
    if len(found) > 1:
        notes = []
        for kind in found:
            own = [f"`{file.name}`" for file, other in types.items() if other == kind]
            notes.append(f"{kind}: {listed(own, _SHOWN)}")
        hint = f"name those of one type, such as `{(_folder(path) / f'*{found[0]}').as_posix()}`"
        message = f"the files of `{where}` are of several types"
        sink.error("E312", message, span, notes=notes, help=hint, where=where)
    elif found == [".npz"] and len(types) > 1:
        message = "an NPZ file is not one of several files of a table: it may hold splits"
        sink.error("E312", message, span, help="write the arrays as NPY files", where=where)
        return False
    return not unknown and len(found) == 1


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent

"""Model files: reading and writing.

A model file is a safetensors file: named arrays and one text of JSON, the description. Reading it
executes nothing, and needs memory in proportion to the size of the file. The same model gives the
same bytes. `docs/model-files.md` describes the format.

The file has a checksum of itself (`spnc.common.sealed`), so that a damaged one is never used. Files
of version 1 have none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common import limits
from spnc.common.sealed import Tensors, arrays_are_intact, sealed_arrays
from spnc.data.column_types import column_of, plain_type
from spnc.data.columns import FINITE, Column
from spnc.diagnostics import Sink, listed
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import LeafTable, Parameters, Program, Segment
from spnc.program.validity import program_problems
from spnc.registry import LEAVES
from spnc.registry.usage import report_absent_leaves

FORMAT = "spnc-model"
VERSION = 2
READABLE = (1, 2)
_NO_INTS = np.empty(0, dtype=np.int64)
_MISFIT, _CHANGED = "the model's arrays do not fit together", "the file was changed; train again"
_WRITERS = "models are written by `spnc train` and `spnc compile -o`"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a model file holds. `provenance` is plain JSON."""

    name: str
    program: Program
    parameters: Parameters
    provenance: dict[str, Any]


# -- writing -----------------------------------------------------------------------------------


def file_content(model: SavedModel) -> bytes:
    """Return the content of the model's file."""
    return sealed_arrays(FORMAT, *model_parts(model))


def model_parts(model: SavedModel) -> tuple[dict[str, Any], Tensors]:
    """Return the description and the arrays of a model."""
    program, parameters = model.program, model.parameters
    tensors: dict[str, NDArray[Any]] = {
        "segments": np.array(
            [(s.is_sum, s.first, s.last, s.first_slot) for s in program.segments], dtype=np.int64
        ).reshape(-1, 4),
        "starts": np.concatenate([*(s.starts for s in program.segments), _NO_INTS]),
        "children": np.concatenate([*(s.children for s in program.segments), _NO_INTS]),
        "weights": parameters.weights,
    }
    for i, (leaf, table) in enumerate(zip(program.leaves, parameters.tables, strict=True)):
        tensors[f"leaves.{i}.variables"] = leaf.variables
        tensors[f"leaves.{i}.parameters"] = np.ascontiguousarray(table)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": model.name,
        "columns": [{"name": c.name, **plain_type(c)} for c in program.columns],
        "leaves": [[t.distribution, t.first] for t in program.leaves],
        "root": program.root,
        "layers": program.layers,
        "provenance": model.provenance,
    }
    return about, tensors


# -- reading -----------------------------------------------------------------------------------


def read_model_file(path: Path, sink: Sink) -> SavedModel | None:
    """Return the model in a file, or None after reporting why it cannot be used."""
    unreadable = _why_unreadable(path)
    if unreadable is not None:
        reason, help = unreadable
        sink.error("E114", f"cannot read `{path}`: {reason}", where=str(path), help=help)
        return None
    content = path.read_bytes()
    parts = _parts(content, str(path), sink)
    return None if parts is None else _model(*parts, content, str(path), sink)


def _why_unreadable(path: Path) -> tuple[str, str | None] | None:
    """Return why a file cannot be opened, and what to do about it; None if it can."""
    try:
        if path.is_dir():
            inside = path / "model.spnc"
            hint = "the model of a run folder is RUN/model.spnc"
            return "it is a folder", f"did you mean `{inside}`?" if inside.is_file() else hint
        if path.exists() and not path.is_file():  # opening a pipe could wait forever
            return "it is not a regular file", None
        path.open("rb").close()
    except FileNotFoundError:
        return "there is no such file", None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        return getattr(error, "strerror", None) or str(error), None
    return None


def _parts(content: bytes, where: str, sink: Sink) -> tuple[dict[str, Any], Tensors] | None:
    """Return the description and the arrays of a file, or None after an error."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header = _header(content)
    metadata = header.get("__metadata__")
    ours = isinstance(metadata, dict) and FORMAT in metadata
    odd = list(_odd_arrays(header)) if ours else []
    if odd:  # safetensors has types that numpy has not
        sink.error("E504", _MISFIT, where=where, notes=odd, help=_CHANGED)
        return None
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, TypeError, LookupError, RecursionError) as error:
        message = "this is not a model file, or it is damaged"
        reason = (str(error) or type(error).__name__).splitlines()[0]
        sink.error("E501", message, where=where, notes=[reason], help=_WRITERS)
        return None
    if not ours:
        notes = [f"arrays: {listed(sorted(tensors))}"] if tensors else []
        message = "this file holds arrays, but not a model of spnc"
        sink.error("E502", message, where=where, notes=notes, help=_WRITERS)
        return None
    try:
        about = json.loads(header["__metadata__"][FORMAT])
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        sink.error("E504", "the model's description is not readable", where=where)
        return None
    return about, tensors


def _header(content: bytes) -> dict[str, Any]:
    """Return the header of a safetensors file; empty if it is not readable."""
    try:
        found = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _odd_arrays(header: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arrays of a model whose numbers are not of the type that the format has."""
    for name, entry in header.items():
        if name == "__metadata__" or not isinstance(entry, dict):
            continue
        is_real = name == "weights" or name.endswith(".parameters")
        found, wanted = entry.get("dtype"), "F64" if is_real else "I64"
        if found != wanted:
            yield f"the array `{name}` holds numbers of type {found}, not {wanted}"


def _model(
    about: dict[str, Any], tensors: Tensors, content: bytes, where: str, sink: Sink
) -> SavedModel | None:
    """Return the model in a file's parts, or None after an error."""
    version = about.get("version")
    if type(version) is not int or version not in READABLE:
        sink.error(
            "E503",
            f"the model is of format version {json.dumps(version)}; "
            f"this spnc reads versions {' and '.join(map(str, READABLE))}",
            where=where,
            help="install the version of spnc that wrote it, or train again",
        )
        return None
    if (version > 1 or "sha256" in about) and not arrays_are_intact(about, content):
        sink.error(
            "E507",
            "the model file has changed since it was written: its checksum is wrong",
            where=where,
            help="copy the file again, or train again",
        )
        return None
    try:
        if isinstance(about.get("columns"), list):
            limits.check_columns(len(about["columns"]), "model", limits.MOST_DECLARED)
    except limits.LimitError as error:
        sink.error(limits.CODE, str(error), where=where, help=error.help)
        return None
    if report_absent_leaves(about, where, sink):
        return None
    model, problems = checked_model(about, tensors)
    if problems:
        sink.error("E504", _MISFIT, where=where, notes=problems, help=_CHANGED)
        return None
    return model


def checked_model(
    about: Mapping[str, Any], tensors: Tensors
) -> tuple[SavedModel | None, list[str]]:
    """Return the model in these parts, and what is wrong with it; None if that is too much."""
    try:
        model = _from_parts(about, tensors)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not one
            return model, list(program_problems(model.program, model.parameters))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return None, [f"there is no {error}" if isinstance(error, KeyError) else str(error)]


def _from_parts(about: Mapping[str, Any], tensors: Tensors) -> SavedModel:
    """Return the model in a file's parts; raises many kinds of errors if they are damaged."""
    if not (
        isinstance(about["name"], str)
        and isinstance(about["provenance"], dict)
        and all(type(about[key]) is int for key in ("root", "layers"))
    ):
        raise ValueError("its description is not that of a model")
    columns = (_columns_1 if about["version"] == 1 else _columns)(about["columns"])
    described = (_leaves_1 if about["version"] == 1 else _leaves)(about["leaves"])
    tables = tuple(tensors[f"leaves.{i}.parameters"] for i in range(len(described)))
    leaves = []
    for i, (distribution, first) in enumerate(described):
        variables, table = tensors[f"leaves.{i}.variables"], tables[i]
        if ((variables < 0) | (variables >= len(columns))).any():
            raise ValueError("a leaf names a column that does not exist")
        if table.ndim != 2 or table.shape[1] != (LEAVES[distribution].arity or table.shape[1]):
            raise ValueError(f"a table of {distribution} leaves has the wrong shape")
        known = LeafColumns.of(columns, variables)
        leaves.append(LeafTable(distribution, table.shape[1], first, variables, known))
    segments = []
    start = edge = 0
    for is_sum, first, last, first_slot in tensors["segments"].tolist():
        starts = tensors["starts"][start : start + last - first + 1]
        children = tensors["children"][edge : edge + int(starts[-1])]
        segments.append(Segment(bool(is_sum), first, last, starts, children, first_slot))
        start += len(starts)
        edge += len(children)
    program = Program(columns, tuple(leaves), tuple(segments), about["root"], about["layers"])
    parameters = Parameters(tensors["weights"], tables)
    return SavedModel(about["name"], program, parameters, about["provenance"])


def _columns(described: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    found = []
    for entry in described:
        plain = dict(entry)
        name = plain.pop("name")
        if not isinstance(name, str):
            raise ValueError("a column has no name")
        column, problems = column_of(name, plain)
        if column is None:
            raise ValueError(f"column `{name}`: {'; '.join(problems)}")
        found.append(column)
    return tuple(found)


def _leaves(described: Sequence[Sequence[Any]]) -> list[tuple[str, int]]:
    if not all(_are(entry, str, int) for entry in described):
        raise ValueError("its description is not that of a model")
    return [(distribution, first) for distribution, first in described]


def _columns_1(described: Sequence[Sequence[Any]]) -> tuple[Column, ...]:
    """Return the columns of a file of version 1, which are binary or categorical."""
    if not all(_are(entry, str, str, int) and entry[1] in FINITE for entry in described):
        raise ValueError("its description is not that of a model")
    return _columns([{"name": n, "kind": kind, "states": states} for n, kind, states in described])


def _leaves_1(described: Sequence[Sequence[Any]]) -> list[tuple[str, int]]:
    """Return the leaf tables of a file of version 1, which repeats the number of states."""
    if not all(_are(entry, str, int, int) for entry in described):
        raise ValueError("its description is not that of a model")
    return [(distribution, first) for distribution, _, first in described]


def _are(values: Any, *types: type) -> bool:
    """Return whether a list holds values of exactly these types."""
    return isinstance(values, list) and [type(v) for v in values] == list(types)

"""Reading NPY and NPZ files. Nothing is ever unpickled: a pickle can run any code."""

from __future__ import annotations

import warnings
import zipfile
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.limits import LimitError, check_columns, check_unpacked
from spnc.data.dataset import SPLITS, UNSPLIT
from spnc.data.file_report import FileReport
from spnc.data.raw_table import RawTable, number_columns
from spnc.diagnostics import listed

_NPY_MAGIC = b"\x93NUMPY"


def parse_npy(data: bytes, report: FileReport) -> dict[str, RawTable] | None:
    """Return the array of an NPY file as the split "all"; None after reporting a problem."""
    if not data:
        report.error_empty()
        return None
    table = _table(data, None, report)
    return None if table is None else {UNSPLIT: table}


def parse_npz(data: bytes, report: FileReport) -> dict[str, RawTable] | None:
    """Return the splits of an NPZ file, or None if no array could be read.

    Arrays named train, valid and test (at least train) are the splits of these names; a single
    array of any other name is the split "all". If a problem was reported, no table is `sound`.
    """
    if not data:
        report.error_empty()
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            check_unpacked(size, len(data), size)
            members = {n.removesuffix(".npy"): archive.read(n) for n in archive.namelist()}
    except LimitError:
        raise
    except Exception:  # zipfile, zlib and struct each raise their own on corrupt bytes
        report.error("E315", "this is not a readable NPZ file", help=_AGAIN)
        return None
    fixed = "train" in members and set(members) <= set(SPLITS)
    if not fixed and len(members) != 1:
        names = listed([f"`{n}`" for n in members]) or "no arrays"
        report.error("E311", f"the NPZ file holds {names}", help=_KEYS)
        return None
    # Read every array even if one is bad, so that all problems are reported.
    order = [name for name in SPLITS if name in members] if fixed else list(members)
    tables = {name: _table(members[name], name, report) for name in order}
    sound = not report.failed
    return {
        name if fixed else UNSPLIT: replace(table, sound=sound)
        for name, table in tables.items()
        if table is not None
    } or None


_AGAIN = "write the file again with numpy.save or numpy.savez"
_KEYS = "name the arrays train, valid and test (at least train), or store a single array"


def _table(data: bytes, name: str | None, report: FileReport) -> RawTable | None:
    """Return the table in one array; None after reporting why the array is not a table."""
    called = f"array `{name}`" if name else "the array"
    array = _array(data, called, report)
    if array is None:
        return None
    if array.dtype.kind not in "buif":
        message = f"{called} holds {array.dtype}, not numbers"
        report.error("E311", message, help="store it as integers, floats or booleans")
        return None
    if array.ndim != 2 or array.shape[1] == 0:
        hint = "it must have two dimensions, rows and columns"
        if array.ndim == 1:
            hint += "; `array.reshape(-1, 1)` makes it one column"
        report.error("E311", f"{called} has the shape {array.shape}", help=hint)
        return None
    check_columns(array.shape[1], "array" if name is None else f"array `{name}`")
    if len(array) == 0:
        report.error("E306", f"{called} has no rows")
        return None
    return RawTable(report.file, number_columns(array), array=name, coded=True)


def _array(data: bytes, called: str, report: FileReport) -> NDArray[Any] | None:
    """Return the array in the bytes of an NPY file; None after reporting a problem."""
    if not data.startswith(_NPY_MAGIC):
        message = f"{called} is not in NPY format"
        report.error("E315", message, help=_AGAIN)
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of headers written by Python 2
            array: NDArray[Any] = np.load(BytesIO(data), allow_pickle=False)
    except Exception as error:  # corrupt headers raise from ast, tokenize, struct and numpy
        if "Object arrays cannot be loaded" in str(error):
            message = f"{called} holds pickled Python objects, which spnc never loads"
            report.error("E311", message, help="store it as integers, floats or booleans")
        else:
            report.error("E315", f"{called} is damaged or truncated", help=_AGAIN)
        return None
    return array

"""NPY and NPZ files. Nothing is ever unpickled."""

from __future__ import annotations

import warnings
import zipfile
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.data.dataset import SPLITS
from spnc.data.raw import FileReport, RawTable
from spnc.diagnostics import listed

_NPY_MAGIC = b"\x93NUMPY"
WHOLE = "all"  # the split that stands for rows not yet split


def parse_npy(data: bytes, report: FileReport) -> dict[str, RawTable] | None:
    """The one array of an NPY file, as the split "all"; None if something was reported."""
    if not data:
        report.error_empty()
        return None
    table = _table(data, None, report)
    return None if table is None else {WHOLE: table}


def parse_npz(data: bytes, report: FileReport) -> dict[str, RawTable] | None:
    """The splits of an NPZ file, not sound if something was reported; None if none could be read.

    Arrays named train, valid and test (train at least) are the splits of these names; a single
    array of any other name is the split "all".
    """
    if not data:
        report.error_empty()
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = {n.removesuffix(".npy"): archive.read(n) for n in archive.namelist()}
    except Exception:  # zipfile, zlib and struct each raise their own on corrupt bytes
        report.error("E315", "this is not a readable NPZ file", help=_AGAIN)
        return None
    fixed = "train" in members and set(members) <= set(SPLITS)
    if not fixed and len(members) != 1:
        names = listed([f"`{n}`" for n in members]) or "no arrays"
        report.error("E311", f"the NPZ file holds {names}", help=_KEYS)
        return None
    # Every array is read, so that the problems of all are told.
    order = [name for name in SPLITS if name in members] if fixed else list(members)
    tables = {name: _table(members[name], name, report) for name in order}
    sound = not report.failed
    return {
        name if fixed else WHOLE: replace(table, sound=sound)
        for name, table in tables.items()
        if table is not None
    } or None


_AGAIN = "write the file again with numpy.save or numpy.savez"
_KEYS = "name the arrays train, valid and test (train at least), or store one array alone"


def _table(data: bytes, name: str | None, report: FileReport) -> RawTable | None:
    """One array of numbers, `values[row, column]`, or a report of what else it is."""
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
    if len(array) == 0:
        report.error("E306", f"{called} has no rows")
        return None
    # A float wider than 64 bits may overflow to infinity, which is then reported as such.
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, dtype=np.float64)
    return RawTable(report.file, values, array=name)


def _array(data: bytes, called: str, report: FileReport) -> NDArray[Any] | None:
    if not data.startswith(_NPY_MAGIC):
        message = f"{called} is not in NPY format"
        report.error("E315", message, help=_AGAIN)
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy remarks on headers written by Python 2
            array: NDArray[Any] = np.load(BytesIO(data), allow_pickle=False)
    except Exception as error:  # corrupt headers raise from ast, tokenize, struct and numpy
        if "Object arrays cannot be loaded" in str(error):
            message = f"{called} holds pickled Python objects, which spnc never loads"
            report.error("E311", message, help="store it as integers, floats or booleans")
        else:
            report.error("E315", f"{called} is damaged or cut short", help=_AGAIN)
        return None
    return array

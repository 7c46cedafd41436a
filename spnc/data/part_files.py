"""Partitions as files: rows that were encoded once, each with a checksum of itself.

A *store* is a folder with the partitions of a table, the samples of its splits, and in the end a
description, without which the store is not complete.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spnc.common.atomic import write_bytes
from spnc.common.sealed import DamagedError, read_sealed_arrays, sealed_arrays
from spnc.data.parted import digest_of
from spnc.data.table import Block, Table
from spnc.diagnostics import Sink, writing

FORMAT = "spnc-rows"
ENDING = ".rows"


@dataclass(frozen=True, eq=False)
class StoredPart:
    """A partition in a file, which is read anew each time."""

    path: Path
    rows: int
    digest: str
    folder: PartFolder | None = None  # a temporary one is there as long as this refers to it

    def table(self) -> Table:
        """Return the rows; stop with a diagnostic if the file is not what was written (E323)."""
        try:
            found, digest = read_rows(self.path)
            if digest != self.digest:
                raise DamagedError("it holds other rows")
        except (OSError, DamagedError) as error:
            sink = Sink()
            sink.error(
                "E323",
                "encoded rows cannot be read",
                where=str(self.path),
                notes=[getattr(error, "strerror", None) or str(error)],
                help=f"delete the folder `{self.path.parent}`; the data will be encoded again",
            )
            sink.stop()
            raise AssertionError from error
        return found


def write_rows(path: Path, table: Table) -> StoredPart:
    """Write rows to a file. Return them as a partition."""
    arrays: dict[str, Any] = {"weights": np.ascontiguousarray(table.weights)}
    for i, block in enumerate(table.blocks):
        arrays[f"{i}.columns"] = block.columns.astype(np.int64)
        arrays[f"{i}.cells"] = np.ascontiguousarray(block.cells)
    digest = digest_of(table)
    with writing(path):
        write_bytes(path, sealed_arrays(FORMAT, {"digest": digest}, arrays))
    return StoredPart(path, table.rows, digest)


def read_rows(path: Path) -> tuple[Table, str]:
    """Return the rows in a file, and their digest. Raises OSError and `DamagedError`."""
    about, arrays = read_sealed_arrays(FORMAT, path.read_bytes())
    try:
        count = sum(name.endswith(".cells") for name in arrays)
        blocks = [
            Block(arrays[f"{i}.columns"].astype(np.intp), arrays[f"{i}.cells"])
            for i in range(count)
        ]
        places = sorted(place for block in blocks for place in block.columns.tolist())
        weights = arrays["weights"]
        sizes = {block.cells.shape[1] for block in blocks} | {len(weights)}
        if places != list(range(len(places))) or len(sizes) != 1 or weights.dtype != np.float64:
            raise ValueError("its arrays are not those of a table")
        return Table.of_blocks(blocks, weights), str(about["digest"])
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedError(str(error) or type(error).__name__) from error


class PartFolder:
    """A folder that partitions are written to."""

    def __init__(self, path: Path, *, is_temporary: bool = False) -> None:
        self.path, self.is_temporary = path, is_temporary
        self._written: dict[str, int] = {}  # files by split

    @staticmethod
    def temporary() -> PartFolder:
        """Return a folder that is deleted when nothing refers to it any more."""
        path = Path(tempfile.mkdtemp(prefix="spnc-rows-"))
        folder = PartFolder(path, is_temporary=True)
        weakref.finalize(folder, shutil.rmtree, path, ignore_errors=True)
        return folder

    def keep(self, split: str, table: Table) -> StoredPart:
        """Write the next partition of a split."""
        number = self._written.get(split, 0)
        self._written[split] = number + 1
        made = write_rows(self.path / f"{split}-{number:05}{ENDING}", table)
        return replace(made, folder=self)

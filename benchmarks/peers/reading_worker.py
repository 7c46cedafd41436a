"""Time how other libraries read a CSV file. Runs in their environment; never imports spnc.

python reading_worker.py pandas|polars|pyarrow
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

from speed_protocol import peak_mb, reply_by

# A function that reads a file, and one that returns rows, columns and a column's total.
Reader = tuple[Callable[[str], Any], Callable[[Any, str], tuple[int, int, float]]]


def pandas_reader() -> Reader:
    """Return how pandas reads, by default."""
    pandas = import_module("pandas")
    return pandas.read_csv, lambda t, c: (t.shape[0], t.shape[1], float(t[c].sum()))


def polars_reader() -> Reader:
    """Return how polars reads, by default."""
    polars = import_module("polars")
    return polars.read_csv, lambda t, c: (t.height, t.width, float(t[c].sum()))


def pyarrow_reader() -> Reader:
    """Return how pyarrow reads, by default."""
    csv, compute = import_module("pyarrow.csv"), import_module("pyarrow.compute")

    def facts(table: Any, column: str) -> tuple[int, int, float]:
        return table.num_rows, table.num_columns, float(compute.sum(table[column]).as_py())

    return csv.read_csv, facts


READERS = {"pandas": pandas_reader, "polars": polars_reader, "pyarrow": pyarrow_reader}


def measured(name: str, reader: Reader, command: dict[str, Any]) -> dict[str, Any]:
    """Read the file of a command, and return what it took and what was read."""
    read, facts = reader
    began, cpu_began = time.perf_counter(), time.process_time()
    table = read(command["path"])
    seconds = time.perf_counter() - began
    cores = (time.process_time() - cpu_began) / seconds
    peak = peak_mb()
    rows, columns, total = facts(table, command["column"])
    return {
        "version": version(name),
        "seconds": seconds,
        "cores": cores,
        "peak_mb": peak,
        "rows": rows,
        "columns": columns,
        "total": total,
    }


def main() -> None:
    """Reply to commands with what reading took; importing the library does not count."""
    name = sys.argv[1]
    reader = READERS[name]()
    reply_by(lambda command: measured(name, reader, command))


if __name__ == "__main__":
    main()

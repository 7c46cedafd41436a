"""Large tables from a known model, written as Parquet in pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spnc.common.rng import random_stream

PIECE_ROWS = 1 << 20
GROUPS = 30  # of the mixture that the rows are drawn from


def write_table(path: Path, rows: int, columns: int, seed: int = 0) -> None:
    """Write a table of binary columns, drawn from a mixture of independent columns."""
    rng = random_stream(seed, "groups", columns)
    shares = rng.dirichlet(np.ones(GROUPS))
    # Sparse columns, as in click streams: most probabilities are small.
    p = rng.beta(0.6, 1.8, size=(GROUPS, columns)).astype(np.float32)
    names = [f"x{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.uint8()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, PIECE_ROWS):
            own = random_stream(seed, "rows", begin)
            count = min(PIECE_ROWS, rows - begin)
            group = own.choice(GROUPS, size=count, p=shares)
            cells = [(own.random(count, dtype=np.float32) < p[group, i]) for i in range(columns)]
            arrays = [pa.array(column.astype(np.uint8)) for column in cells]
            writer.write_table(pa.table(arrays, schema=schema))

"""Batches of rows for a device, on which every numeric column has a codebook.

If a column has more distinct values than a codebook may have, the rows are taken in several
batches, each with codebooks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spnc.backends.planning.encoding import MOST_CODES, EncodedTable, encode
from spnc.backends.planning.program_index import ProgramIndex
from spnc.data.table import Table

# Values of numeric leaves in one batch, at most: with their flows and tables about 300 MB.
BATCH_ENTRIES = 1 << 23


def encoded_batches(index: ProgramIndex, table: Table) -> Iterator[EncodedTable]:
    """Yield the rows of a table in a fixed random order, in as few batches as possible."""
    whole = encode(index, table, most_codes=MOST_CODES)
    if not whole.numbers:
        yield whole.shuffled()
        return
    order = np.random.default_rng(0).permutation(table.rows)
    leaves = sum(index.numeric_leaves.values())
    step = min(MOST_CODES, max(1, BATCH_ENTRIES // max(1, leaves)))
    for start in range(0, table.rows, step):
        own = order[start : start + step]
        yield replace(encode(index, table.take(own), most_codes=None), order=own)

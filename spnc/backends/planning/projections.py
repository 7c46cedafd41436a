"""Projections: numbers rows so that those which are equal on some columns get the same number.

The numbering is exact, without hashing. As many columns as have few combinations of codes are taken
together, and combinations are numbered in the order of first appearance. From there on, column by
column, pairs of the number so far and the column's code are renumbered in that order. So it does
not matter for the numbers how many columns are taken together. Codes are `codes[column, row]`.
"""

from __future__ import annotations

import numpy as np

from spnc.backends.planning.compiling import kernel

MAX_PROJECTIONS = 65_535  # they are numbered by 16 bits
DENSE_KEYS = 1 << 16  # combinations whose numbers fit into the second-level cache
BLOCK_ROWS = 4096  # whose keys fit into the first-level cache


@kernel
def _refine(codes, column, states, rows, ids, limit, seen, out, marks):
    """Number the pairs (ids[i], code of row i) into `out`; return how many, or -1 above `limit`.

    `seen` is scratch memory for all pairs, -1 throughout; `marks` lists the entries to clear.
    """
    found = 0
    for i in range(len(rows)):
        key = np.int64(ids[i]) * states + codes[column, rows[i]]
        number = seen[key]
        if number < 0:
            if found == limit:
                for k in range(found):
                    seen[marks[k]] = -1
                return -1
            number = found
            seen[key] = found
            marks[found] = key
            found += 1
        out[i] = number
    for k in range(found):
        seen[marks[k]] = -1
    return found


@kernel
def _number_dense(codes, states, columns, rows, size, limit, ids):
    """Number `rows` into `ids` as `project` does, by a table of all `size` combinations of codes.

    Blocks of rows are taken through all columns, so that keys stay in the cache.
    """
    numbers = np.full(size, -1, dtype=np.int32)
    keys = np.empty(BLOCK_ROWS, dtype=np.uint32)
    in_order = len(rows) == codes.shape[1]  # all rows, so that no look-up is needed
    found = 0
    for start in range(0, len(rows), BLOCK_ROWS):
        count = min(BLOCK_ROWS, len(rows) - start)
        keys[:count] = 0
        for c in columns:
            own = codes[c]
            radix = np.uint32(states[c])
            if in_order:
                for i in range(count):
                    keys[i] = keys[i] * radix + np.uint32(own[start + i])
            else:
                for i in range(count):
                    keys[i] = keys[i] * radix + np.uint32(own[rows[start + i]])
        for i in range(count):
            number = numbers[keys[i]]
            if number < 0:
                if found == limit:
                    return -1
                number = found
                numbers[keys[i]] = found
                found += 1
            ids[start + i] = number
    return found


@kernel
def project(codes, states, columns, rows, limit, ids):
    """Number `rows` by their codes on `columns` into `ids`; return the count, -1 above `limit`."""
    size, first = 1, 0
    while first < len(columns) and size * states[columns[first]] <= DENSE_KEYS:
        size *= states[columns[first]]
        first += 1
    count = _number_dense(codes, states, columns[:first], rows, size, limit, ids)
    if count < 0 or first == len(columns):
        return count
    widest = 1
    for c in columns[first:]:
        widest = max(widest, states[c])
    seen = np.full(limit * widest, -1, dtype=np.int32)
    marks = np.empty(limit, dtype=np.int64)
    for c in columns[first:]:
        count = _refine(codes, c, states[c], rows, ids, limit, seen, ids, marks)
        if count < 0:
            return -1
    return count


@kernel
def first_of_each(codes, states, columns, most, limit, rows):
    """List the first row of each combination of codes on `columns` in `rows`, in order.

    Return how many there are, or -1 above `limit`. At most `most` combinations are possible: once
    all of these are found, the rows that follow are not looked at. There is a table of all
    combinations of `states`, which are at most `DENSE_KEYS`.
    """
    size = 1
    for c in columns:
        size *= states[c]
    seen = np.zeros(size, dtype=np.bool_)
    keys = np.empty(BLOCK_ROWS, dtype=np.uint32)
    found = 0
    for start in range(0, codes.shape[1], BLOCK_ROWS):
        if found == most:
            break
        count = min(BLOCK_ROWS, codes.shape[1] - start)
        keys[:count] = 0
        for c in columns:
            own = codes[c]
            radix = np.uint32(states[c])
            for i in range(count):
                keys[i] = keys[i] * radix + np.uint32(own[start + i])
        for i in range(count):
            if not seen[keys[i]]:
                if found == limit:
                    return -1
                seen[keys[i]] = True
                rows[found] = start + i
                found += 1
    return found


@kernel
def first_rows(ids, count, rows):
    """Return the first of `rows` with each number."""
    found = np.empty(count, dtype=np.uint32)
    known = 0
    for i in range(len(rows)):
        if ids[i] == known:
            found[known] = rows[i]
            known += 1
            if known == count:
                break
    return found


@kernel
def pack(codes, states, starts, columns, rows, limit):
    """Pack factors, in order, into groups of at most `limit` distinct projections each.

    Factor i is over columns[starts[i]:starts[i+1]]. Return the group of every factor; a factor that
    is too large alone is a group of its own.
    """
    factors = len(starts) - 1
    widest = 1
    for c in columns:
        widest = max(widest, states[c])
    seen = np.full(limit * widest, -1, dtype=np.int32)
    marks = np.empty(limit, dtype=np.int64)
    ids = np.zeros(len(rows), dtype=np.uint16)
    trial = np.empty(len(rows), dtype=np.uint16)
    group = np.empty(factors, dtype=np.int64)
    current = 0
    count = 1
    i = 0
    empty = True
    while i < factors:
        new = count
        for k in range(len(rows)):
            trial[k] = ids[k]
        for e in range(starts[i], starts[i + 1]):
            c = columns[e]
            new = _refine(codes, c, states[c], rows, trial, limit, seen, trial, marks)
            if new < 0:
                break
        if new >= 0:
            group[i] = current
            ids, trial = trial, ids
            count = new
            empty = False
            i += 1
            continue
        if empty:  # too large alone
            group[i] = current
            i += 1
        current += 1
        ids[:] = 0
        count = 1
        empty = True
    return group

"""The kinds of node in a planned program, as numbers that compiled kernels can compare."""

LEAF, PRODUCT, SUM = range(3)

# Sums that share all their children form a dense block (see `spnc.backends.numba.dense`). Its first
# sum is DENSE, where the whole block is computed; the others are MEMBERs, and are skipped.
DENSE, MEMBER = 3, 4

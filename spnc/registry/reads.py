"""What plug-ins read of a table that is larger than memory.

Such a table is in partitions, and only a sample of its rows is in memory. A plug-in that needs no
sample, or sums over all rows besides, says so by a class attribute:

    reads: ClassVar[tuple[Source, ...]] = ("pairs",)
"""

from __future__ import annotations

from typing import Any, Literal, get_args

# Counts of the states of each column, or of each pair of columns, in all rows; all rows, dealt out
# from their partitions; or a sample of rows.
Source = Literal["columns", "pairs", "rows", "sample"]
SOURCES: frozenset[str] = frozenset(get_args(Source))
SAMPLE: frozenset[Source] = frozenset({"sample"})


def reads_of(plugin: Any, method: str) -> frozenset[Source]:
    """Return what a plug-in reads, in the method that does its work: a sample if it does not say.

    What a class says holds for those derived from it, unless they define the method anew. A
    text, or names that are none of `Source`, say nothing.
    """
    for cls in type(plugin).__mro__:
        if "reads" in vars(cls):
            found = frozenset(vars(cls)["reads"])
            return found if found <= SOURCES else SAMPLE
        if method in vars(cls):
            break
    return SAMPLE

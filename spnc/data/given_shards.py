"""Dask frames that are given in Python, recognised without importing Dask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_METHODS = ("to_delayed", "npartitions", "columns", "dtypes")


@dataclass(frozen=True, eq=False)
class GivenShards:
    """A Dask frame that was given in Python."""

    frame: Any

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process is sent partitions, and not the frame that they are made from.
        return _nothing, ()


def _nothing() -> None:
    """Return what a frame is in another process."""


def is_dask_frame(data: Any) -> bool:
    """Return whether this is a data frame of Dask."""
    modules = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    from_dask = not modules.isdisjoint(("dask", "dask_expr"))
    return from_dask and all(hasattr(data, name) for name in _METHODS)

"""The section `cluster` of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from spnc.registry import Conflict, Options, option

LOCAL = r"local:([0-9]{1,4})"
_ADDRESS = re.compile(rf"{LOCAL}|(tcp|tls|ws|wss|ucx)://.+")


@dataclass(frozen=True, kw_only=True)
class Cluster(Options):
    """Where passes over large tables are computed. It is no part of what is trained: neither the
    model nor `recipe.lock.yaml` has it."""

    one_value_for: ClassVar[tuple[str, ...]] = ("address",)

    address: str = option(
        doc="the address of a Dask scheduler, such as `tcp://host:8786`, or `local:4` for four "
        "worker processes on this machine"
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report an address that is none."""
        if not _ADDRESS.fullmatch(self.address) or self.address == "local:0":
            yield Conflict(
                "address",
                f"`{self.address}` is not the address of a cluster",
                "write `tcp://host:8786`, `tls://host:8786` or `local:4`",
            )

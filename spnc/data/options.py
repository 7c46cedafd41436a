"""The section `data` of a spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from spnc.registry import Conflict, Options, option

Header = Literal["auto", "yes", "no"]
MISSING = ("", "?", "NA", "nan", "NaN")  # cell texts that mean a missing value by default
_SUM_TOLERANCE = 1e-9  # of three fractions written in decimals


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """Where the rows come from, and how they are split for training, validation and testing."""

    one_value_for: ClassVar[tuple[str, ...]] = ("source",)

    source: str | None = option(
        None,
        "`builtin:NAME`, `debd:NAME`, or a file (CSV, TSV, .data, NPY, NPZ; also .gz)",
        path=True,
    )
    train: str | None = option(None, "a file of training rows, instead of `source`", path=True)
    valid: str | None = option(None, "a file of validation rows, beside `train`", path=True)
    test: str | None = option(None, "a file of test rows, beside `train`", path=True)
    split: tuple[float, float, float] | None = option(
        None, "fractions of the rows of `source` for train, valid and test", min=0, max=1
    )
    split_seed: int = option(0, "seed of the shuffle before a split by fractions", min=0)
    header: Header = option("auto", "whether the first line of a text file holds column names")
    missing: tuple[str, ...] = option(MISSING, "cell texts that mean a missing value")

    def conflicts(self) -> Iterator[Conflict]:
        """Yield conflicts: rows from two places or nowhere, or fractions that make no split."""
        files = [name for name in ("train", "valid", "test") if getattr(self, name) is not None]
        if self.source is not None and files:
            yield Conflict(
                files[0],
                f"`source` and `{files[0]}` exclude each other",
                "give one source, or separate files for train, valid and test",
            )
        if self.source is None and self.train is None:
            yield Conflict("", "no training data is named", "give `source`, or a `train` file")
        if self.split is not None:
            if files:
                yield Conflict(
                    "split",
                    f"`split` and `{files[0]}` exclude each other",
                    "the files are already the splits",
                )
            if abs(sum(self.split) - 1.0) > _SUM_TOLERANCE:
                yield Conflict(
                    "split",
                    f"the fractions of the split sum to {sum(self.split):g}, not to 1",
                    "give fractions for train, valid and test, such as 0.8, 0.1, 0.1",
                )
            elif self.split[0] == 0.0:
                yield Conflict(
                    "split",
                    "the split leaves no rows for training",
                    "raise the first fraction",
                )

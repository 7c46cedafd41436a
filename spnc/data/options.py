"""The section `data` of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from spnc.data.columns import Label
from spnc.data.dates import DATE_UNITS
from spnc.data.given_shards import GivenShards
from spnc.data.parted import PARTITION_ROWS, Elsewhere
from spnc.data.raw_table import RawTable
from spnc.data.table_rules import Unseen
from spnc.data.text_rules import MISSING, Header, TextRules
from spnc.diagnostics import listed
from spnc.registry import Conflict, Options, option

DeclaredKind = Literal["auto", "binary", "categorical", "count", "real", "date", "ignore"]
FOLDS = "([0-9]{1,4})-fold"  # as `5-fold`
_SUM_TOLERANCE = 1e-9  # of three fractions written in decimals


@dataclass(frozen=True, kw_only=True)
class ColumnRule(Options):
    """What a column is, where that is not to be found from its values."""

    one_value_for: ClassVar[tuple[str, ...]] = ("kind",)

    name: str = option(doc="the name of the column, or a pattern with `*` and `?`")
    kind: DeclaredKind = option("auto", "the kind of the column; `ignore` leaves it out")
    unit: str = option(
        "", "the unit of its numbers, to be shown with them; of a date, what its numbers count"
    )
    resolution: float | None = option(None, "the unit to which its numbers are rounded", above=0)
    labels: tuple[Label, ...] | None = option(None, "its categories, in this order")

    @property
    def has_labels(self) -> bool:
        """Whether the values of the column are labels, which are kept as they are written."""
        return self.kind in ("binary", "categorical") or self.labels is not None

    def conflicts(self) -> Iterator[Conflict]:
        """Yield conflicts between the kind and the other options."""
        if self.labels is not None:
            if self.kind not in ("auto", "binary", "categorical"):
                yield Conflict(
                    "labels",
                    f"a {self.kind} column has no labels",
                    "labels are for binary and categorical columns",
                )
            if len(set(self.labels)) < len(self.labels) or len(self.labels) < 2:
                yield Conflict(
                    "labels", "labels must be two or more different values", "list each once"
                )
        if self.kind == "date" and self.unit and self.unit not in DATE_UNITS:
            yield Conflict(
                "unit",
                f"a date is not counted in `{self.unit}`",
                f"numbers can count dates in {listed(DATE_UNITS)}",
            )
        if self.resolution is not None and self.kind not in ("auto", "real", "date"):
            yield Conflict(
                "resolution",
                f"a {self.kind} column has no resolution to set",
                "it is for real and date columns",
            )


@dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """Where the rows come from, and how they are split for training, validation and testing."""

    one_value_for: ClassVar[tuple[str, ...]] = ("source",)

    source: str | None = option(
        None,
        "`builtin:NAME`, `debd:NAME`, `-` for standard input, or a file (CSV, TSV, Parquet, Arrow, "
        "JSON lines, NPY, NPZ; also compressed); a folder, or a name with `*` or `?`, is a table "
        "in several files",
        path=True,
    )
    train: str | None = option(
        None, "a file of training rows, or several as in `source`, in its place", path=True
    )
    valid: str | None = option(
        None,
        "a file of validation rows, beside `train`; or `5-fold`: all rows but those for testing "
        "are divided into five parts, or another number, and each is held out in turn",
        path=True,
        words=FOLDS,
    )
    test: str | None = option(None, "a file of test rows, beside `train`", path=True)
    split: tuple[float, float, float] | None = option(
        None, "fractions of the rows of `source` for train, valid and test", min=0, max=1
    )
    split_seed: int = option(0, "seed of the shuffle before a split by fractions", min=0)
    header: Header = option("auto", "whether the first line of a text file holds column names")
    missing: tuple[str, ...] = option(MISSING, "cell texts that mean a missing value")
    columns: tuple[ColumnRule, ...] = option(
        (), "kinds of columns by name or pattern, where they are not to be inferred", keyed="name"
    )
    weight: str | None = option(None, "the column that holds row weights, positive numbers")
    partition_rows: int = option(
        PARTITION_ROWS,
        "rows of a partition: a larger table is trained on in partitions, one after another or on "
        "several machines, and what is no sum over rows, as most learning of structure, works on a "
        "sample of as many rows",
        min=1,
    )
    unseen: Unseen = option(
        "error", "what a category becomes that is not in the training data but in later data"
    )

    # A table given in Python, in place of what `source` names.
    table: RawTable | None = field(default=None, compare=False, repr=False)
    # A Dask frame given in Python, in place of what `source` names.
    shards: GivenShards | None = field(default=None, compare=False, repr=False)
    # Computes passes over tables in partitions elsewhere.
    elsewhere: Elsewhere | None = field(default=None, compare=False, repr=False)

    @property
    def is_given(self) -> bool:
        """Whether rows were given in Python."""
        return self.table is not None or self.shards is not None

    @property
    def folds(self) -> int | None:
        """How many parts are held out in turn, if that is what the validation rows are."""
        found = re.fullmatch(FOLDS, self.valid) if self.valid is not None else None
        return int(found[1]) if found is not None else None

    @property
    def files(self) -> dict[str, str]:
        """The files of single splits, by split."""
        files = {"train": self.train, "valid": self.valid, "test": self.test}
        if self.folds is not None:
            del files["valid"]
        return {split: file for split, file in files.items() if file is not None}

    @property
    def fractions(self) -> tuple[float, float, float] | None:
        """The fractions of the rows for train, valid and test; folds are cut from train."""
        if self.split is None or self.folds is None:
            return self.split
        train, valid, test = self.split
        return train + valid, 0.0, test

    @property
    def text_rules(self) -> TextRules:
        """How texts are read."""
        texts = (rule.name for rule in self.columns if rule.has_labels)
        return TextRules(self.header, self.missing, frozenset(texts))

    def conflicts(self) -> Iterator[Conflict]:
        """Yield conflicts: rows from two places or nowhere, or fractions that make no split."""
        files = list(self.files)
        if self.folds is not None and self.folds < 2:
            yield Conflict(
                "valid",
                "with fewer than two parts there is nothing to train on while one is held out",
                "write `5-fold`",
            )
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
            elif (self.fractions or self.split)[0] == 0.0:
                yield Conflict(
                    "split",
                    "the split leaves no rows for training",
                    "raise the first fraction",
                )

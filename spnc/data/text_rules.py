"""How the texts of a table are read: its header, its missing cells, its columns of texts."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spnc.data.raw_table import default_name

Header = Literal["auto", "yes", "no"]
# Cell texts that mean a missing value by default.
MISSING = ("", "?", "NA", "N/A", "n/a", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None")


@dataclass(frozen=True, slots=True)
class TextRules:
    """What a reader of texts has to know that the text itself does not say.

    `header` says whether the first line holds names, `missing` which texts mean a missing value.
    `texts` are the names, or patterns of names, of columns that are read as texts even if all
    their cells look like numbers: these may be codes, such as 01. `orders` are the names of
    columns by position, for tables without a header: that order applies which has as many names
    as the table has columns. Where there are any, a first line of such names is a header,
    whatever `header` says.
    """

    header: Header = "auto"
    missing: tuple[str, ...] = MISSING
    texts: frozenset[str] = frozenset()
    orders: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of columns that are known."""
        return frozenset(name for order in self.orders for name in order)

    def with_texts(self, names: frozenset[str]) -> TextRules:
        """Return rules by which these columns are read as texts, too."""
        return replace(self, texts=self.texts | names)

    def text_places(self, names: Sequence[str] | None, width: int) -> list[int]:
        """Return the positions of the columns of texts, given the header of a table, if any."""
        if not self.texts:
            return []
        if names is None:
            plain = tuple(default_name(i) for i in range(width))
            names = next((order for order in self.orders if len(order) == width), plain)
        return [i for i, name in enumerate(names) if self._is_text(name)]

    def _is_text(self, name: str) -> bool:
        return name in self.texts or any(fnmatch.fnmatchcase(name, text) for text in self.texts)


UNKNOWN_TABLE = TextRules()  # how texts are read of which nothing is known

"""How a later table is read, and matched with a model's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from spnc.data.columns import Column
from spnc.data.text_formats import TextFormat, format_from_json
from spnc.data.text_rules import MISSING, Header, TextRules

Unseen = Literal["error", "missing", "other"]
OTHER = "other"  # the label of the state for categories that training has not seen


@dataclass(frozen=True, slots=True)
class TableRules:
    """What a model knows about its table besides its columns: later data is read as this was.

    `names` are all columns of the training table, in order, also those that are not modelled;
    empty if these are the model's columns. `weight` names the column of row weights. `unseen`
    is what a category becomes that training has not seen. `header` and `missing` are those of
    the spec. `odd` names the columns of numbers or dates in which other texts count as missing.
    `index` are columns that named the rows of the training table and are not modelled. `formats`
    are those of columns whose numbers or dates are written for people, by name.
    """

    names: tuple[str, ...] = ()
    weight: str | None = None
    unseen: Unseen = "error"
    header: Header = "auto"
    missing: tuple[str, ...] = MISSING
    odd: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    formats: tuple[tuple[str, TextFormat], ...] = ()

    def text_rules(self, columns: Sequence[Column] = ()) -> TextRules:
        """Return how texts are read that hold a table of a model with these columns."""
        own = tuple(column.name for column in columns)
        texts = frozenset(column.name for column in columns if _has_texts(column))
        texts |= {name for name, _ in self.formats}
        orders = tuple(order for order in (self.names, own) if order)
        return TextRules(self.header, self.missing, texts, orders)

    def as_json(self) -> dict[str, Any]:
        """Return the rules as plain values, without those that are the default."""
        found = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = list(value) if isinstance(value, tuple) else value
        if self.formats:
            found["formats"] = {name: asdict(format) for name, format in self.formats}
        return found

    @classmethod
    def from_json(cls, value: Any) -> TableRules:
        """Return the rules that `as_json` wrote; defaults for whatever is not understood."""
        found = value if isinstance(value, dict) else {}
        checked: dict[str, Any] = {}
        for name in ("names", "missing", "odd", "index"):
            texts = found.get(name)
            if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
                checked[name] = tuple(texts)
        if isinstance(found.get("weight"), str):
            checked["weight"] = found["weight"]
        for name, allowed in (("unseen", get_args(Unseen)), ("header", get_args(Header))):
            if found.get(name) in allowed:
                checked[name] = found[name]
        formats = found.get("formats")
        if isinstance(formats, dict):
            pairs = [(str(name), format_from_json(plain)) for name, plain in formats.items()]
            checked["formats"] = tuple((name, f) for name, f in pairs if f is not None)
        return cls(**checked)


def _has_texts(column: Column) -> bool:
    """Whether categories are texts, apart from the state for those that are seen only later."""
    return any(isinstance(label, str) and label != OTHER for label in column.labels or ())


AS_MODELLED = TableRules()  # a table with the model's columns, and no others

"""How a later table is matched with a model's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

Unseen = Literal["error", "missing", "other"]
OTHER = "other"  # the label of the state for categories that training has not seen


@dataclass(frozen=True, slots=True)
class TableRules:
    """What a model knows about its table besides its columns.

    `names` are all columns of the training table, in order, also those that are not modelled;
    empty if these are the model's columns. `weight` names the column of row weights. `unseen`
    is what a category becomes that training has not seen. `index` are columns that named the
    rows of the training table and are not modelled.
    """

    names: tuple[str, ...] = ()
    weight: str | None = None
    unseen: Unseen = "error"
    index: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the rules as plain values, without those that are the default."""
        plain = {
            "names": list(self.names),
            "weight": self.weight,
            "unseen": self.unseen,
            "index": list(self.index),
        }
        default: dict[str, Any] = {"names": [], "weight": None, "unseen": "error", "index": []}
        return {key: value for key, value in plain.items() if value != default[key]}

    @classmethod
    def from_json(cls, value: Any) -> TableRules:
        """Return the rules that `as_json` wrote; defaults for whatever is not understood."""
        found = value if isinstance(value, dict) else {}
        weight = found.get("weight")
        unseen: Unseen = found.get("unseen", "error")
        return cls(
            _texts(found.get("names")),
            weight if isinstance(weight, str) else None,
            unseen if unseen in get_args(Unseen) else "error",
            _texts(found.get("index")),
        )


def _texts(value: Any) -> tuple[str, ...]:
    known = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return tuple(value) if known else ()


AS_MODELLED = TableRules()  # a table with the model's columns, and no others

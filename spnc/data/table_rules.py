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
    is what a category becomes that training has not seen.
    """

    names: tuple[str, ...] = ()
    weight: str | None = None
    unseen: Unseen = "error"

    def as_json(self) -> dict[str, Any]:
        """Return the rules as plain values, without those that are the default."""
        plain = {"names": list(self.names), "weight": self.weight, "unseen": self.unseen}
        default: dict[str, Any] = {"names": [], "weight": None, "unseen": "error"}
        return {key: value for key, value in plain.items() if value != default[key]}

    @classmethod
    def from_json(cls, value: Any) -> TableRules:
        """Return the rules that `as_json` wrote; defaults for whatever is not understood."""
        found = value if isinstance(value, dict) else {}
        names, weight = found.get("names"), found.get("weight")
        unseen: Unseen = found.get("unseen", "error")
        known = isinstance(names, list) and all(isinstance(n, str) for n in names)
        return cls(
            tuple(names) if known and names is not None else (),
            weight if isinstance(weight, str) else None,
            unseen if unseen in get_args(Unseen) else "error",
        )


AS_MODELLED = TableRules()  # a table with the model's columns, and no others

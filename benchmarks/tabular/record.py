"""The record of all results, in one file; an interrupted run continues where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from spnc.common.atomic import write_text

Result = dict[str, Any]


class Key(NamedTuple):
    """What a result is about."""

    table: str
    part: str  # "all", "real", "hidden 10%", "hidden 50%", "synthetic" or "fit"
    system: str
    seed: int


class Record:
    """Results by key. `setting` says what else they depend on: a recipe, a budget."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[Key, Result] = {}
        if file.is_file():
            for line in json.loads(file.read_text(encoding="utf-8")):
                self._found[Key(*(line.pop(name) for name in Key._fields))] = line

    def __iter__(self) -> Any:
        return iter(sorted(self._found.items()))

    def once(self, key: Key, setting: str, work: Callable[[], Result]) -> bool:
        """Measure and record what is not known with this setting; return whether it was measured.

        Raises what `work` raises; the results so far are in the file then.
        """
        known = self._found.get(key)
        if known is not None and known.get("setting", "") == setting:
            return False
        self._found[key] = {**work(), **({"setting": setting} if setting else {})}
        self._write()
        return True

    def _write(self) -> None:
        lines = [json.dumps({**key._asdict(), **result}) for key, result in self]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_text(self._file, "[\n" + ",\n".join(lines) + "\n]\n")

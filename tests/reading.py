"""Read files and options as tests need it: what is found, and what is reported."""

from __future__ import annotations

from pathlib import Path

from spnc.data.dataset import Dataset
from spnc.data.load import load, load_table
from spnc.data.options import DataOptions
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink


def write(folder: Path, name: str, text: str | bytes) -> str:
    """Write a file, and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(source: str, **options: object) -> tuple[Dataset | None, list[tuple[str, str]]]:
    """Return the dataset, and what was reported as (code, place without the folder)."""
    sink = Sink()
    rules = {name: options.pop(name) for name in ("header", "missing") if name in options}
    rules_of = TableRules(**rules)  # type: ignore[arg-type]
    dataset = load_table(source, sink, rules=rules_of, **options)  # type: ignore[arg-type]
    assert (dataset is None) == sink.failed
    return dataset, [(d.code, Path(d.where or "").name) for d in sink.diagnostics]


def loaded(options: DataOptions) -> Dataset:
    """Return the dataset of options that have no error."""
    sink = Sink()
    dataset = load(options, sink)
    assert dataset is not None, sink.diagnostics
    return dataset

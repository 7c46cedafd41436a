"""Facts about a dataset: its splits, and each column's kind, missing cells and mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from spnc.data.dataset import Dataset


def summarise(dataset: Dataset) -> dict[str, Any]:
    """Return facts for `spnc data show`; those about columns are over all splits together."""
    values = np.concatenate([t.values for t in dataset.splits.values()])
    missing = np.isnan(values)
    present = (~missing).sum(axis=0)
    means = np.where(missing, 0.0, values).sum(axis=0) / np.maximum(1, present)
    return {
        "splits": [
            {"split": name, "rows": table.rows, "distinct_rows": table.distinct().rows}
            for name, table in dataset.splits.items()
        ],
        "columns": [
            {
                "name": column.name,
                "type": str(column),
                "missing": int(missing[:, i].sum()),
                "mean": round(float(means[i]), 6) if present[i] else None,
            }
            for i, column in enumerate(dataset.columns)
        ],
    }

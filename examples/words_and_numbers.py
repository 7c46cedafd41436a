"""Train on a data frame of words, numbers and missing cells, and ask in the words of the table.

The frame has 150 flowers: lengths in centimetres, the species as a word, and a quarter of all cells
missing. Pandas and polars frames work like this one of pyarrow; so does a dict of lists. A unit is
said once, in the spec, and shown wherever numbers are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_iris

import spnc

LENGTHS = ("sepal_length", "sepal_width", "petal_length", "petal_width")
SPEC = {
    "model": "flowers",
    "data": {"columns": {"*_length": {"unit": "cm"}, "*_width": {"unit": "cm"}}},
    "forest": [{"learner": "hclt", "states": 6, "count": 3}],
    "optimizer": {"method": "em", "max_iterations": 30},
}


def flowers() -> pa.Table:
    """Return the flowers, each without about a quarter of its cells."""
    iris = load_iris()
    columns = dict(zip(LENGTHS, iris.data.T, strict=True))
    columns["species"] = iris.target_names[iris.target]
    rng = np.random.default_rng(0)
    hidden = {name: rng.random(len(cells)) < 0.25 for name, cells in columns.items()}
    return pa.table({name: pa.array(c, mask=hidden[name]) for name, c in columns.items()})


def main() -> None:
    frame = flowers()
    model = spnc.train(SPEC, data=frame).model

    print("five flowers that the model makes up:")
    print(model.sample(5, seed=1))

    # Columns that are not asked about are summed out; the order of columns does not matter.
    kinds = ["setosa", "versicolor", "virginica"]
    joint = model.log_likelihood({"species": kinds, "petal_length": [5.0] * 3})
    shares = np.exp(joint - np.logaddexp.reduce(joint))
    print("a petal of 5 cm:", ", ".join(f"{k} {s:.0%}" for k, s in zip(kinds, shares, strict=True)))


if __name__ == "__main__":
    main()

"""The paper's Fig. 3: mutual information of columns in a ResSPN, early and at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spnc.common.atomic import write_bytes
from spnc.compilation import compile_recipe
from spnc.data.pairs import mutual_information, pair_counts
from spnc.diagnostics import Sink
from spnc.pipeline import fit
from spnc.reports.plots.mutual_information import Comparison, picture
from spnc.spec.read import read_recipe

# Links to one other component, after one iteration; and links to nine, after ten.
STAGES = (("links to one other", 2, 1), ("links to nine others", 10, 10))


def draw(spec: Path, file: Path) -> str:
    """Draw the figure with a recipe's data and links; return how far model and data differ."""
    comparisons, columns = [], []
    for title, count, iterations in STAGES:
        sink = Sink()
        settings = [
            f"forest.0.count={count}",
            "residual.ratio=0.15",
            f"optimizer.max_iterations={iterations}",
        ]
        recipe = read_recipe(spec, sink, settings)
        sink.stop()
        assert recipe is not None
        compiled = compile_recipe(replace(recipe, model=title), sink)
        model = fit(compiled, sink).model
        counts = pair_counts(model.columns, compiled.dataset.distinct_in_memory["train"])
        empirical = mutual_information(counts)
        name = f"{title}, {iterations} iteration{'s' if iterations > 1 else ''} of EM"
        comparisons.append(Comparison(name, empirical, model.mutual_information()))
        columns = [column.name for column in model.columns]
    write_bytes(file, picture(comparisons, columns, "the training rows", file.suffix))
    return "\n".join(f"- {c.name}: {c.summary()}" for c in comparisons)

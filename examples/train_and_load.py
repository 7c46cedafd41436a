"""Train a small forest from a spec, save it, load it again and compute a conditional probability.

Settings override values of the spec, as `--set` does on the command line. `spnc train
specs/tiny.yaml` does the same and writes a run folder.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import spnc

SPEC = Path(__file__).resolve().parent.parent / "specs/tiny.yaml"


def main() -> None:
    # Any option of the spec can be set from here.
    run = spnc.train(SPEC, ["forest.0.count=5", "optimizer.max_iterations=50", "seed=1"])

    facts = run.model.program.facts()
    print(f"{run.model.name}: {facts['nodes']:,} nodes, {facts['parameters']:,} parameters")
    first, last = run.fitted.history[0], run.fitted.history[-1]
    print(f"training log-likelihood: {first.train:.4f} before EM, {last.train:.4f} at the end")
    print(f"stopped by {run.fitted.stopped}, kept iteration {run.fitted.kept_iteration}")
    for split, score in run.scores.items():
        print(f"  {split:5} {score.average:.4f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.spnc"
        run.model.save(path)
        print(f"saved: {path.stat().st_size:,} bytes")
        model = spnc.load(path)

    names = [column.name for column in model.columns]
    row = np.full(len(names), np.nan)
    row[names.index("smoking")] = 1
    both = row.copy()
    both[names.index("cancer")] = 1
    evidence, joint = model.log_likelihood([row, both])
    print(f"P(cancer | smoking) = {np.exp(joint - evidence):.3f}; the network says 0.100")
    same = np.array_equal(model.log_likelihood([row, both]), run.model.log_likelihood([row, both]))
    print(f"the loaded model agrees to the last bit: {same}")


if __name__ == "__main__":
    main()

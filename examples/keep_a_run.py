"""Train with a run folder from Python, read what it holds, and score other data.

With `out`, a training writes the folder that `spnc train` writes: Ctrl-C then saves a checkpoint,
and the same call with `resume=True` continues to the same bits. `recipe.lock.yaml` is a spec that
reproduces the run; training it again shows that.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import spnc

SPEC = Path(__file__).resolve().parent.parent / "specs/tiny.yaml"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "asia"
        trained = spnc.train(SPEC, ["optimizer.max_iterations=20"], out=run)
        print("files of the run:", *sorted(path.name for path in run.iterdir()))

        metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
        test = metrics["splits"]["test"]
        print(f"{test['rows']:,} test rows, average log-likelihood {test['avg_ll']:.4f}")

        again = spnc.train(run / "recipe.lock.yaml")
        same = again.scores["test"].average == trained.scores["test"].average
        print(f"the lock file reproduces the run: {same}")

        model = spnc.load(run / "model.spnc")
        scores = model.evaluate("builtin:asia")
        print(f"all rows of builtin:asia: {scores['all'].average:.4f}")


if __name__ == "__main__":
    main()

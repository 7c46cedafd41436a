"""The page of `benchmarks.paper`: the paper's tables in Markdown, from recorded results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

from benchmarks.common.intervals import EXPLANATION, counted_seeds, interval
from benchmarks.common.markdown import filled, table
from benchmarks.common.published import (
    DATASETS,
    LEARN_SPN,
    LEARN_SPN_WITHOUT_EM,
    NAMES,
    SIZES,
    TEST,
    TRAIN,
    Figures,
    figure,
)

Records = Sequence[dict[str, Any]]
Cells = dict[tuple[str, str], list[dict[str, Any]]]

# Systems that were trained on a busy machine: their seconds are recorded, but not shown.
UNTIMED = (LEARN_SPN_WITHOUT_EM,)

_HEAD = f"""# The paper's tables

Written by `python -m benchmarks.paper` from `specs/paper/`. The paper is *Random Sum-Product
Forests with Residual Links*. Average log-likelihoods in nats. Each cell has the paper's figure
and, below it, spnc's mean over {{seeds}}; {EXPLANATION}. **Bold**: spnc's mean is at or above the
paper's figure. The best ExtraSPN is one model, chosen among ten seeds.
"""

_DEVIATIONS = """## Where spnc deviates from the paper

All choices below were made on validation rows.

Training:

- **EM keeps the best iteration.** It stops when the validation log-likelihood has not improved
  for 20 iterations, or after 1,000 iterations. The paper stops when the variance of the last five
  training log-likelihoods is below 1e-7, or after 1,000 iterations. The LearnSPN recipes have both
  rules.
- **Smoothing** is not stated in the paper. Here it is a Laplace prior of 0.1, in the learner and in
  EM; 1 for LearnSPN and for the clustered forests on Audio, Jester and Netflix.
- **Seeds.** Figures of spnc are means over seeds. The paper reports one figure per cell and does
  not mention repetitions.

Components:

- **Larger ExtraSPNs on MSNBC and Plants.** The paper draws μ from [1, rows / 5] with β = 0.6. On
  MSNBC the range is [1, rows / 500]; on Plants it is [1, rows / 20] with β = 0.75.
- **When an ExtraSPN can split neither columns nor rows**, which the paper leaves open, it tries
  again (`when_both_fail: retry`).
- **The best ExtraSPN** is chosen among ten seeds on the validation rows. The paper reports the best
  test log-likelihood.
- **LearnSPN** is quoted in the paper from Rooshenas and Lowd (2014); as published, it has no EM
  after structure learning. Here it is spnc's learner (G-test; rows clustered by EM into two
  clusters; independence threshold, smallest slice and smoothing chosen per dataset, for the
  version with EM). The row *no EM* is comparable with the quoted figure; the row *then EM* is
  not.

Residual links:

- **One partner for each sum** (`partners: first`): a sum is linked to the first fitting node of
  each other component. Algorithm 4 of the paper links it to all fitting nodes.
- **Links share nodes** (`links: share`), and parts that are linked in a component's turn are not
  targets in the same turn (`bfs: snapshot`). The paper's layers suggest copies, and targets in
  newly linked parts.
- **The ratio k** is chosen among 0.1, 0.15 and 0.2. The paper searches in [0.1, 0.2].
- **Links are limited.** No links are added once a forest has 200,000 edges (`max_edges`).
  InfoResSPN tries at most 5,000 links to each other component, on at most 5,000 distinct rows.
- **InfoResSPN judges links by validation rows** (`judge: valid`), weighted by the flow through the
  target. The paper uses the training rows of the target's slice.
- **InfoResSPN and its baseline keep the best of ten EM iterations**; the paper runs ten. On
  Audio, Jester and Netflix their components are larger and smoother (β = 0.8, smoothing 1).

Counting:

- **Edges and layers** are counted after spnc has merged nested sums and nested products, and shared
  nodes are counted once. The paper's sizes of LearnSPN are those of Vergari et al. (2015).
- **Fig. 3, left:** links to one other component and one iteration of EM. The paper does not say
  how far that model was trained.
"""

_FIGURE = """## Fig. 3: mutual information of every two columns of NLTCS

![Two matrices, the data's mutual information below the diagonal and the model's above](fig3.png)

{}
"""


def report(records: Records, picture: str | None = None) -> str:
    """Return the page: all tables that have records; `picture` describes Fig. 3."""
    cells: Cells = defaultdict(list)
    for record in records:
        cells[record["system"], record["data"]].append(record)
    counts = [len(found) for (system, _), found in cells.items() if system != "extraspn"]
    parts = [
        filled(_HEAD.format(seeds=counted_seeds(counts or [1]))),
        _table(
            "Table 2: test log-likelihood",
            ("extraspn", LEARN_SPN_WITHOUT_EM, LEARN_SPN, "id-spn", "rspf10", "resspn10"),
            cells,
            TEST,
            "test",
        ),
        _table("Table 3: training log-likelihood", ("rspf10", "resspn10"), cells, TRAIN, "train"),
        _table(
            "Table 4: ensembles of 3, 5 and 10, test log-likelihood",
            ("rspf3", "resspn3", "rspf5", "resspn5", "rspf10", "resspn10"),
            cells,
            TEST,
            "test",
        ),
        _table(
            "Table 5: informed links, test log-likelihood",
            ("rspfclustered", "inforesspn"),
            cells,
            TEST,
            "test",
        ),
        _sizes(cells),
        _table("Beyond the paper: better components", ("hclt10",), cells, TEST, "test"),
        _gains(cells),
        _FIGURE.format(picture) if picture is not None else "",
        _DEVIATIONS,
        _every_run(records),
    ]
    return "\n".join(part for part in parts if part)


def _table(title: str, systems: Sequence[str], cells: Cells, paper: Figures, split: str) -> str:
    def cell(system: str, data: str) -> str:
        theirs, ours = figure(paper, system, data), cells.get((system, data))
        lines = [f"{theirs:.3f}"] if theirs is not None else []
        if ours:
            found = interval([r[split] for r in ours])
            good = theirs is not None and round(found.mean, 3) >= theirs
            lines.append(found.text(3, bold=good))
        return "<br>".join(lines)

    if not any(s == k[0] for s in systems for k in cells):
        return ""
    return _by_system(title, systems, cell)


def _by_system(title: str, systems: Sequence[str], cell: Callable[[str, str], str]) -> str:
    rows = [[NAMES[s], *(cell(s, data) for data in DATASETS)] for s in systems]
    return f"## {title}\n\n{table(['', *DATASETS.values()], rows)}"


def _sizes(cells: Cells) -> str:
    def cell(system: str, data: str) -> str:
        edges, layers = SIZES[system][list(DATASETS).index(data)]
        text, ours = f"{edges:,} / {layers}", cells.get((system, data))
        if ours:
            text += f"<br>{mean(r['edges'] for r in ours):,.0f}"
            text += f" / {mean(r['layers'] for r in ours):.0f}"
        return text

    return _by_system("Table 6: edges / layers", tuple(SIZES), cell)


def _gains(cells: Cells) -> str:
    """Return the table of what links add to the same components, seed by seed."""
    pairs = {f"resspn{n}": f"rspf{n}" for n in (3, 5, 10)} | {"inforesspn": "rspfclustered"}
    counts: list[int] = []

    def cell(system: str, data: str) -> str:
        linked, plain = cells.get((system, data), []), cells.get((pairs[system], data), [])
        before = {r["seed"]: r["test"] for r in plain}
        gains = [r["test"] - before[r["seed"]] for r in linked if r["seed"] in before]
        if not gains:
            return ""
        found = interval(gains)
        counts.append(found.seeds)
        return found.text(3, sign=True, bold=found.is_above_zero)

    title = "What residual links add on the test rows, with the same components and seed"
    text = _by_system(title, tuple(pairs), cell)
    if not counts:
        return ""
    meaning = (
        f"Mean of {counted_seeds(counts)}; {EXPLANATION}. **Bold**: the whole interval is above 0."
    )
    heading, rest = text.split("\n\n", 1)
    return f"{heading}\n\n{filled(meaning)}\n\n{rest}"


def _every_run(records: Records) -> str:
    head = ["recipe", "seed", "train", "valid", "test", "edges", "layers", "iterations", "s", ""]
    rows = []
    for r in records:
        chosen = ", ".join(f"{k.split('.')[-1]} {v}" for k, v in r.get("chosen", {}).items())
        logs = [f"{r[split]:.4f}" for split in ("train", "valid", "test")]
        rows.append(
            [
                f"{r['data']}-{r['system']}",
                str(r["seed"]),
                *logs,
                f"{r['edges']:,}",
                str(r["layers"]),
                str(r["iterations"]),
                "" if r["system"] in UNTIMED else f"{r['seconds']:.0f}",
                chosen,
            ]
        )
    total = sum(r["seconds"] for r in records if r["system"] not in UNTIMED) / 60
    title = f"<details><summary>Every run ({len(records)}, {total:.0f} minutes in all)</summary>"
    return f"{title}\n\n{table(head, rows)}\n</details>\n"

"""Compare spnc's recipes with the best published figures, as a table and a picture.

    python -m benchmarks.standing

Trains nothing: reads the results of `benchmarks.paper`, `benchmarks.best`, `benchmarks.auto` and
`benchmarks.speed`. Writes benchmarks/results/standing.md and standing.png, and the generated parts
of README.md: a small table between the marks `standing`, and three lines on speed between the marks
`speed`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from matplotlib.figure import Figure

from benchmarks.common.markdown import filled, marks, table, with_part
from benchmarks.common.published import CHECKED, DATASETS, FAR, LEARN_SPN, SOURCES, TEST
from benchmarks.common.trainings import RESULTS, ROOT
from benchmarks.timing import speed_page
from spnc.common.atomic import write_bytes, write_text
from spnc.report.plots.style import COLOURS, GREY, INK, house_style, image, number

BUDGET = "1min"
README = ROOT / "README.md"

_HEAD = f"""# Where spnc stands

Written by `python -m benchmarks.standing`. Average test log-likelihoods in nats; figures of spnc
are means over three seeds, with intervals on the pages of [the best densities](best.md),
[`--auto`](auto.md) and [the paper's tables](paper.md). **Bold**: at or above the best figure that
can be checked.

{SOURCES}

![Every dataset's figures by their distance from the best checked one](standing.png)

"""


@dataclass(frozen=True)
class System:
    """A row of the table: its figures in the order of the datasets."""

    name: str
    figures: tuple[float, ...]
    short: str
    marker: str = ""  # empty for the baseline that others are compared with
    colour: str = ""  # only for spnc's own; others are grey
    in_readme: bool = False

    @property
    def ours(self) -> bool:
        """Whether spnc trained it."""
        return bool(self.colour)


def main() -> int:
    """Write the table, the picture, and the generated parts of the README."""
    systems = standing()
    text = standing_table(systems)
    with house_style():
        write_bytes(RESULTS / "standing.png", image(draw(systems), ".png"))
    write_text(RESULTS / "standing.md", filled(_HEAD) + text)
    write_text(README, refreshed(README.read_text(encoding="utf-8")))
    print(text)
    return 0


def refreshed(page: str) -> str:
    """Return the README with every generated part that it has marks for made anew."""
    for name, text in readme_parts().items():
        if marks(name)[0] in page:
            page = with_part(page, name, text)
    return page


def readme_parts() -> dict[str, str]:
    """Return the generated parts of the README by the name of their marks."""
    parts = {"standing": standing_table([s for s in standing() if s.in_readme])}
    speed = RESULTS / "speed.json"
    if speed.is_file():
        run = json.loads(speed.read_text(encoding="utf-8"))
        parts["speed"] = speed_page.readme_lines(run)
    return parts


def standing() -> list[System]:
    """Return published systems, then spnc's own."""
    paper, best, auto = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("paper", "best", "auto")
    )

    def means(records: Sequence[dict[str, object]], **about: str) -> tuple[float, ...]:
        key = "data" if "system" in about else "table"
        found = [r for r in records if about.items() <= r.items()]
        return tuple(mean(float(str(r["test"])) for r in found if r[key] == d) for d in DATASETS)

    quoted = tuple(float(figure or 0.0) for figure in TEST[LEARN_SPN])
    others = "continuous mixtures of Chow-Liu trees, as quoted (far goal)"
    hclt = "ten hidden Chow-Liu trees, `specs/paper/*-hclt10.yaml`"
    auto_name = f"`spnc train --auto TABLE --budget {BUDGET}`"
    one, each = "one recipe for all, `specs/best/any.yaml`", "a recipe for each, `specs/best/`"
    return [
        System("LearnSPN, as quoted in the paper", quoted, "LearnSPN, quoted", "x"),
        System("best figure that can be checked", CHECKED, "best checked", in_readme=True),
        System(others, FAR, "continuous mixtures, quoted", "D"),
        System(hclt, means(paper, system="hclt10"), "ten hidden Chow-Liu trees", "v", COLOURS[4]),
        System(auto_name, means(auto, budget=BUDGET), f"--auto, {BUDGET}", "s", COLOURS[1], True),
        System(one, means(best, system="any"), "specs/best/any.yaml", "o", COLOURS[2], True),
        System(each, means(best, system="own"), "specs/best, for each", "*", COLOURS[0], True),
    ]


def standing_table(systems: Sequence[System]) -> str:
    """Return the table with a row for each system."""
    rows = []
    for system in systems:
        cells = []
        for figure, checked in zip(system.figures, CHECKED, strict=True):
            text = f"{figure:.2f}" if not system.ours else f"{figure:.3f}"
            cells.append(f"**{text}**" if system.ours and figure >= checked else text)
        rows.append([system.name, *cells])
    return table(["", *DATASETS.values()], rows)


def draw(systems: Sequence[System]) -> Figure:
    """Draw a line of marks for each dataset, by their distance from the best checked figure."""
    figure = Figure(figsize=(8.6, 3.4), layout="constrained")
    axes = figure.subplots()
    heights = range(len(DATASETS) - 1, -1, -1)
    for system in systems:
        if not system.marker:
            axes.axvline(0.0, color=INK, lw=1.0, label=system.short, zorder=1)
            continue
        above = [100.0 * (1.0 - f / c) for f, c in zip(system.figures, CHECKED, strict=True)]
        axes.plot(
            above,
            heights,
            system.marker,
            color=system.colour or GREY,
            mfc=system.colour or "none",
            ms=11 if system.marker == "*" else 7,
            label=system.short,
            zorder=3,
        )
    axes.set_yticks(list(heights), list(DATASETS.values()))
    axes.grid(axis="both")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(lambda x, _: f"{number(x, '+.0f')}%" if x else "0")
    axes.set_xlabel("test log-likelihood, from the best checked figure; further right is better")
    axes.set_title("Where spnc stands")
    figure.legend(loc="outside right center")
    return figure


if __name__ == "__main__":
    sys.exit(main())

"""Where spnc stands: its recipes beside the best published figures, as a table and a picture.

    python -m benchmarks.standing

Trains nothing: reads what `benchmarks.paper`, `benchmarks.best` and `benchmarks.auto` have found,
and writes benchmarks/results/standing.md and standing.png, and the table into the README.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from matplotlib.figure import Figure

from benchmarks.best import CHECKED, FAR, SOURCES
from benchmarks.markdown import table
from benchmarks.paper_figures import DATASETS, TEST
from benchmarks.runs import RESULTS, ROOT
from spnc.common.atomic import write_bytes, write_text
from spnc.reports.plots.style import COLOURS, GREY, INK, house_style, image, number

BUDGET = "1min"
_BEGIN, _END = "<!-- standing -->\n\n", "\n<!-- end of standing -->"

_HEAD = f"""# Where spnc stands

Written by `python -m benchmarks.standing`. Average test log-likelihoods in nats; those of spnc are
means over three seeds. **Bold**: at or above the best that can be checked from public sources.
{SOURCES}

![Every dataset's figures by their distance from the best checked one](standing.png)

"""


@dataclass(frozen=True)
class System:
    """A line of the table: its figures in the order of the datasets."""

    name: str
    figures: tuple[float, ...]
    short: str
    marker: str = ""  # without one it is what the others are compared with
    colour: str = ""  # of spnc's own; others are grey

    @property
    def ours(self) -> bool:
        """Whether spnc has trained it."""
        return bool(self.colour)


def main() -> int:
    """Write the table and the picture."""
    systems = standing()
    text = standing_table(systems)
    with house_style():
        write_bytes(RESULTS / "standing.png", image(draw(systems), ".png"))
    write_text(RESULTS / "standing.md", _HEAD + text)
    readme = ROOT / "README.md"
    write_text(readme, with_table(readme.read_text(encoding="utf-8"), text))
    print(text)
    return 0


def standing() -> list[System]:
    """What others have published, then spnc's own."""
    paper, best, auto = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("paper", "best", "auto")
    )

    def means(records: Sequence[dict[str, object]], **about: str) -> tuple[float, ...]:
        key = "data" if "system" in about else "table"
        found = [r for r in records if about.items() <= r.items()]
        return tuple(mean(float(str(r["test"])) for r in found if r[key] == d) for d in DATASETS)

    quoted = tuple(float(figure or 0.0) for figure in TEST["learnspn"])
    others = "continuous mixtures of Chow-Liu trees, as quoted (far goal)"
    hclt = "ten hidden Chow-Liu trees, `specs/paper/*-hclt10.yaml`"
    auto_name = f"`spnc train --auto TABLE --budget {BUDGET}`"
    one, each = "one recipe for all, `specs/best/any.yaml`", "a recipe for each, `specs/best/`"
    return [
        System("LearnSPN, as quoted in the paper", quoted, "LearnSPN, quoted", "x"),
        System("the best that can be checked", CHECKED, "best checked"),
        System(others, FAR, "continuous mixtures, quoted", "D"),
        System(hclt, means(paper, system="hclt10"), "ten hidden Chow-Liu trees", "v", COLOURS[4]),
        System(auto_name, means(auto, budget=BUDGET), f"--auto, {BUDGET}", "s", COLOURS[1]),
        System(one, means(best, system="any"), "specs/best/any.yaml", "o", COLOURS[2]),
        System(each, means(best, system="own"), "specs/best, for each", "*", COLOURS[0]),
    ]


def with_table(page: str, text: str) -> str:
    """The page with this table between its two marks."""
    before, _, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        sys.exit(f"README.md has no {_BEGIN.strip()} … {_END.strip()}")
    return f"{before}{_BEGIN}{text}{_END}{after}"


def standing_table(systems: Sequence[System]) -> str:
    """A line for each system."""
    rows = []
    for system in systems:
        cells = []
        for figure, checked in zip(system.figures, CHECKED, strict=True):
            text = f"{figure:.2f}" if not system.ours else f"{figure:.3f}"
            cells.append(f"**{text}**" if system.ours and figure >= checked else text)
        rows.append([system.name, *cells])
    return table(["", *DATASETS.values()], rows)


def draw(systems: Sequence[System]) -> Figure:
    """A line of marks for each dataset, by their distance from the best checked figure."""
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

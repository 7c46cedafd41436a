"""Draws `docs/pictures/digits.png`: a training, what the model has learned, what it is made of.

python docs/make_pictures.py               # trains specs/quickstart.yaml first
python docs/make_pictures.py --run RUN     # takes a run folder of `spnc train`
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from numpy.typing import NDArray

import spnc
from spnc.cli import main as spnc_command
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink
from spnc.program.inspection import inspect_program

ROOT = Path(__file__).resolve().parent.parent
INK, GREY, BLUE, ORANGE, GREEN = "#222222", "#9a9a9a", "#2166ac", "#d9772b", "#4d9a6a"
PAPER = LinearSegmentedColormap.from_list("paper", ["#ffffff", INK])
CHANCE = LinearSegmentedColormap.from_list("chance", ["#eef3f9", "#7fb0d8", "#0b3c78"])
STYLE = {
    "font.size": 12,
    "axes.titlesize": 13.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
SHOWN = 8  # digits
HALF = 32  # pixels


def draw(run: Path, target: Path) -> None:
    """One wide figure about a run on the digits."""
    model = spnc.load(run / "model.spnc")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(14.4, 3.8), dpi=110, facecolor="white")
        sides = {"top": 0.88, "bottom": 0.165}
        curves = figure.add_gridspec(1, 1, left=0.037, right=0.222, **sides)
        digits = figure.add_gridspec(
            3, SHOWN, left=0.28, right=0.782, wspace=0.06, hspace=0.06, **sides
        )
        layers = figure.add_gridspec(1, 1, left=0.836, right=0.99, **sides)
        draw_curves(figure.add_subplot(curves[0]), run)
        draw_digits(figure, digits, model)
        draw_layers(figure.add_subplot(layers[0]), model)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, metadata={"Software": None})


def draw_curves(axes: Axes, run: Path) -> None:
    """Training and validation log-likelihood by iteration, the kept one marked."""
    history = np.genfromtxt(run / "history.csv", delimiter=",", names=True)
    iterations, train, valid = history["iteration"], history["train"], history["valid"]
    best = json.loads((run / "metrics.json").read_text("utf-8"))["optimizer"]["kept_iteration"]
    axes.plot(iterations, train, color=GREY, lw=2)
    axes.plot(iterations, valid, color=BLUE, lw=2)
    axes.plot(iterations[best], valid[best], "o", ms=8, color=BLUE, mec="white", mew=1.5, zorder=3)
    low, high = float(valid.min()), float(train.max())
    room = high - low
    axes.annotate(
        f"kept: iteration {best}",
        (iterations[best], valid[best]),
        (iterations[best], valid[best] - 0.3 * room),
        ha="center",
        arrowprops={"arrowstyle": "-", "color": GREY, "shrinkB": 6},
    )
    axes.text(iterations[-1], train[-1] + 0.04 * room, "train", color="#6f6f6f", ha="right")
    axes.text(iterations[-1], valid[-1] - 0.09 * room, "valid", color=BLUE, ha="right")
    axes.set_ylim(low - 0.05 * room, high + 0.12 * room)
    axes.set_xlabel("EM iteration")
    axes.set_title("Average log-likelihood")
    axes.grid(axis="y", color="#ececec")
    axes.set_axisbelow(True)


def draw_digits(figure: Figure, grid: GridSpec, model: spnc.Model) -> None:
    """Test digits in columns: what is given, what the model makes of it, the truth."""
    names = ("given", "model", "truth")
    for column, row in enumerate(chosen_digits()):
        guess = completed(model, row)
        for line, name in enumerate(names):
            axes = figure.add_subplot(grid[line, column])
            draw_digit(axes, row, guess if line == 1 else None, hide=line == 0)
            if column == 0:
                axes.set_ylabel(name, rotation=0, ha="right", va="center", labelpad=8)
            if column == line == 0:
                axes.set_title("Test digits completed from their upper halves")
    draw_scale(figure, grid.left + 0.034)


def draw_scale(figure: Figure, left: float) -> None:
    """What the shades of blue mean, in one line below the digits."""
    words = "P(black | upper half), exact:   0"
    height = 0.075
    figure.text(left + 0.142, height, words, ha="right", va="center")
    scale = figure.add_axes((left + 0.149, height - 0.022, 0.085, 0.044))
    scale.imshow([np.linspace(0, 1, 101)], cmap=CHANCE, aspect="auto")
    scale.set_axis_off()
    figure.text(left + 0.24, height, "1", va="center")


def draw_digit(axes: Axes, row: Any, guess: Any, *, hide: bool) -> None:
    """One digit; its lower half hidden, guessed, or as it is."""
    box = (-0.5, 7.5, 7.5, -0.5)
    axes.imshow(row.reshape(8, 8), cmap=PAPER, vmin=0, vmax=1, extent=box)
    lower = (-0.5, 7.5, 7.5, 3.5)
    if hide:
        axes.imshow([[0.0]], cmap=CHANCE, vmin=0, vmax=1, extent=lower)
        axes.text(3.5, 5.6, "?", ha="center", va="center", color=BLUE, fontsize=17)
    elif guess is not None:
        axes.imshow(guess[HALF:].reshape(4, 8), cmap=CHANCE, vmin=0, vmax=1, extent=lower)
    axes.set(xlim=(-0.5, 7.5), ylim=(7.5, -0.5), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, color="#cfcfcf", linewidth=0.8)


def draw_layers(axes: Axes, model: spnc.Model) -> None:
    """How many sums, products and leaves stand in each layer; leaves are layer 1."""
    layers = inspect_program(model.program)["layers"]
    at = [layer["layer"] for layer in layers]
    left = np.zeros(len(layers))
    for kind, colour in (("sums", ORANGE), ("products", BLUE), ("leaves", GREEN)):
        counts = np.array([layer[kind] for layer in layers])
        axes.bar(at, counts, bottom=left, color=colour, width=0.82, label=kind)
        left += counts
    axes.set_yscale("log")
    axes.set(ylim=(0.6, None), xticks=range(1, len(layers) + 1, 2))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.minorticks_off()
    axes.set_title(f"{model.program.nodes:,} nodes by layer")
    axes.legend(frameon=False, loc="upper right")
    axes.set_xlabel("layer (leaves are 1)")


def chosen_digits() -> list[NDArray[np.float64]]:
    """The first test row of each of the digits 0 to 7."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    label = {row.tobytes(): int(n) for row, n in zip(pixels > 7, labels, strict=True)}
    sink = Sink()
    dataset = load(DataOptions(source="builtin:digits", split=(0.8, 0.1, 0.1)), sink)
    assert dataset is not None, sink.diagnostics
    found: dict[int, NDArray[np.float64]] = {}
    for row in dataset.splits["test"].values:
        found.setdefault(label[(row > 0.5).tobytes()], row)
    return [found[n] for n in range(SHOWN)]


def completed(model: spnc.Model, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(pixel j is black | the upper half) for every pixel j of the lower half."""
    given = np.where(np.arange(len(row)) < HALF, row, np.nan)
    hidden = np.arange(HALF, len(row))
    asked = np.tile(given, (len(hidden), 1))
    asked[np.arange(len(hidden)), hidden] = 1
    found = given.copy()
    found[hidden] = np.exp(model.log_likelihood(asked) - model.log_likelihood(given))
    return found


def main() -> None:
    """Draw, after training if no run is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", type=Path, help="a run folder of specs/quickstart.yaml")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures/digits.png")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = arguments.run
        if run is None:
            run = Path(folder) / "run"
            spnc_command(["train", str(ROOT / "specs/quickstart.yaml"), "--out", str(run)])
        draw(run, arguments.out)


if __name__ == "__main__":
    main()

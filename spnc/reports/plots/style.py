"""What all pictures have in common: colours, type, and files of the same bytes every time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

INK, GREY, FAINT = "#222222", "#8a8a8a", "#e6e6e6"
# Okabe and Ito's colours, told apart by every kind of eye; the darker ones first.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")
# From white to dark, and darker all the way, so that it can also be read in grey.
AMOUNT = LinearSegmentedColormap.from_list(
    "amount",
    ["#ffffff", "#e3f4e1", "#b5e2cf", "#71c6c2", "#3a9fc4", "#2a6cb0", "#20357f", "#07143f"],
)

_STYLE: Any = {
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
    "savefig.bbox": "tight",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.8,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.edgecolor": "none",
    "text.parse_math": False,  # a `$` in the name of a column or folder is a dollar
    "svg.hashsalt": "spnc",
}
_METADATA = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}


@contextmanager
def house_style() -> Iterator[None]:
    """Figures made and saved in here look the same whatever the user's settings are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the font lacks shows as boxes; the picture is still good.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def image(figure: Figure, suffix: str) -> bytes:
    """The content of a file for the figure, `suffix` being .png or .svg; no date, no version."""
    content = io.BytesIO()
    figure.savefig(content, format=suffix.removeprefix("."), metadata=_METADATA[suffix])
    return content.getvalue()


def number(value: float, form: str) -> str:
    """A number in words of a picture, with the minus sign that the axes have."""
    return format(value, form).replace("-", "\N{MINUS SIGN}")


def clipped(name: str, limit: int) -> str:
    """A name that is not longer than there is room for."""
    return name if len(name) <= limit else name[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"

"""`spnc inspect`: count nodes, edges, layers, scopes and parameters."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_plugins, add_quiet, add_settings, command, settings_of

if TYPE_CHECKING:
    from spnc.data.table import Table
    from spnc.program.program import Program

_COLUMNS = 20  # shown; --json has all
_ROWS = 10_000  # assumed for the cost on a GPU where no data is given


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "inspect",
        run,
        "show the structure of a spec, circuit or model",
        examples=(
            "spnc inspect specs/quickstart.yaml",
            "spnc inspect runs/quickstart/model.spnc --json",
        ),
    )
    parser.add_argument("file", help="a spec (compiled first), a circuit or a model")
    parser.add_argument(
        "--backend",
        choices=["cupy"],
        help="also estimate the cost on a GPU; no GPU is needed",
    )
    parser.add_argument(
        "--rows",
        type=_positive,
        metavar="N",
        help="with --backend: assume N rows, as different as possible (default: the spec's "
        f"training rows, or {_ROWS:,})",
    )
    add_settings(parser, computing=False)
    add_plugins(parser)
    add_json(parser)
    add_quiet(parser)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Print the structure."""
    from spnc.api import read_thing
    from spnc.cli.output import complain, say, table
    from spnc.common.progress_display import observing
    from spnc.compilation import compile_recipe
    from spnc.diagnostics import Sink
    from spnc.model import Model
    from spnc.program.inspection import inspect_program
    from spnc.program.lower import lower
    from spnc.spec.recipe import Recipe

    if arguments.rows is not None and arguments.backend is None:
        say("spnc inspect: --rows needs --backend", aside=True)
        return 2
    sink = Sink()
    thing = read_thing(
        arguments.file,
        sink,
        settings_of(arguments, ["seed"]),
        allow_plugins=arguments.allow_plugins,
    )
    rows = None
    if isinstance(thing, Recipe):
        with observing(arguments.quiet) as observer:
            compiled = compile_recipe(thing, sink, observer)
        name, program = thing.model, compiled.program
        rows = compiled.dataset.distinct_in_memory["train"]
    elif isinstance(thing, Model):
        name, program = thing.name, thing.program
    else:
        name, program = str(thing.graph.get("name", "circuit")), lower(thing)[0]
    found = inspect_program(program)
    if arguments.backend is not None:
        found["cupy"] = _device_cost(program, arguments.rows, rows)
    complain(sink.diagnostics)
    if arguments.json:
        print(json.dumps({"ok": True, "name": name, **found}, indent=2))
        return 0
    say(table([name, ""], list(found["model"].items())))
    say()
    say(_columns_table(found["columns"]))
    layers = [
        (str(r["layer"]), r["sums"], r["products"], r["leaves"], r["edges"])
        for r in found["layers"]
    ]
    say()
    say(table(["layer", "sums", "products", "leaves", "edges down"], layers))
    say()
    scopes = [(str(r["columns"]), r["sums"], r["products"], r["leaves"]) for r in found["scopes"]]
    say(table(["columns in scope", "sums", "products", "leaves"], scopes))
    if "cupy" in found:
        say()
        say(_cost_table(found["cupy"]))
    return 0


def _columns_table(columns: list[dict[str, Any]]) -> str:
    """Return a table of the first columns: their types, and their labels or range."""
    from spnc.cli.output import table
    from spnc.common.wording import clipped
    from spnc.diagnostics import counted

    rows = [(c["name"], c["type"], clipped(c["values"], 60)) for c in columns[:_COLUMNS]]
    text = table(["column", "type", "values"], rows, left=3)
    rest = len(columns) - len(rows)
    return f"{text}\n  … {counted(rest, 'more column')}" if rest > 0 else text


def _device_cost(program: Program, count: int | None, rows: Table | None) -> dict[str, Any]:
    from spnc.backends.cupy.cost import estimate, rows_unlike

    if count is not None or rows is None:
        rows = rows_unlike(program, count or _ROWS).distinct()
    return estimate(program, rows)


def _cost_table(found: dict[str, Any]) -> str:
    """Return a table of memory and work on a GPU, for both precisions."""
    from spnc.cli.output import table

    kinds = ("float64", "float32")

    def line(label: str, key: str, unit: float = 1) -> list[object]:
        values: list[Any] = []
        for kind in kinds:
            value: Any = found[kind]
            for part in key.split("."):
                value = value[part]
            values.append(f"{value / unit:,.1f}" if unit > 1 else value)
        return [label, *values]

    lines = [
        line("memory for circuit and rows, MB", "table_bytes", 1e6),
        line("working memory, all rows at once, MB", "room_bytes", 1e6),
        line("working memory, at least, MB", "least_room_bytes", 1e6),
        line("kernel launches for log-likelihoods", "log_likelihood.launches"),
        line("kernel launches for an EM iteration", "em.launches"),
        line("read in an EM iteration, MB", "em.read", 1e6),
        line("written in an EM iteration, MB", "em.written", 1e6),
        line("millions of operations in an EM iteration", "em.operations", 1e6),
        line("operations per byte", "em.operations_per_byte"),
    ]
    return table([f"cupy, {found['rows']:,} distinct rows", *kinds], lines)

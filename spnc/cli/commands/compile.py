"""`spnc compile`: learn the structure, check and lower it; no parameters are trained."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import (
    add_jobs,
    add_json,
    add_plugins,
    add_quiet,
    add_settings,
    command,
    settings_of,
)

if TYPE_CHECKING:
    from spnc.graph.nodes import Graph


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers,
        "compile",
        run,
        "learn, check and lower a circuit, without training it",
        examples=(
            "spnc compile specs/quickstart.yaml -o quickstart.spnc",
            "spnc compile specs/quickstart.yaml --dump forest",
        ),
    )
    parser.add_argument("file", help="a spec or a circuit")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the untrained model here")
    parser.add_argument(
        "--dump",
        metavar="STAGE",
        help="print the circuit after this stage: forest, or the name of a pass",
    )
    add_jobs(parser)
    add_settings(parser)
    add_plugins(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and show facts about the model."""
    from spnc import passes
    from spnc.api import read_thing
    from spnc.cli.output import complain, say, table
    from spnc.cluster import workers_for
    from spnc.common.progress_display import observing
    from spnc.common.wording import duration
    from spnc.compilation import circuit_model, compile_recipe
    from spnc.diagnostics import Sink, did_you_mean, writing
    from spnc.graph.text import write_circuit_text
    from spnc.model import Model
    from spnc.spec.recipe import Recipe

    sink = Sink()
    stages = ["forest", *passes.BEFORE_TRAINING]
    if arguments.dump is not None and arguments.dump not in stages:
        sink.error(
            "E117",
            f"there is no stage `{arguments.dump}` to dump",
            help=did_you_mean(arguments.dump, stages),
        )
    texts: dict[str, str] = {}

    def dump(stage: str, graph: Graph) -> None:
        if stage == arguments.dump:
            texts[stage] = write_circuit_text(graph, stage)

    thing = read_thing(
        arguments.file, sink, settings_of(arguments), allow_plugins=arguments.allow_plugins
    )
    seconds: Mapping[str, float] = {}
    if isinstance(thing, Recipe):
        with observing(arguments.quiet) as observer:
            workers = workers_for(arguments.jobs)
            compiled = compile_recipe(thing, sink, observer, dump, workers=workers)
        model, seconds = compiled.model(), compiled.seconds
    elif isinstance(thing, Model):
        model = thing
        if arguments.dump is not None:
            graph = thing.graph()
            dump("forest", graph)
            passes.run(graph, passes.BEFORE_TRAINING, dump)
    else:
        dump("forest", thing)
        model = circuit_model(thing, dump)
    if arguments.output is not None:
        with writing(arguments.output):
            model.save(arguments.output)
    complain(sink.diagnostics)
    facts = model.program.facts()
    if arguments.json:
        found: dict[str, Any] = {"ok": True, "model": facts, "seconds": dict(seconds)}
        if arguments.dump is not None:
            found["dump"] = texts.get(arguments.dump, "")
        found["diagnostics"] = [d.as_json() for d in sink.diagnostics]
        print(json.dumps(found, indent=2))
    elif arguments.dump is not None:
        print(texts.get(arguments.dump, ""), end="")
    else:
        say(table([model.name, ""], [(name, value) for name, value in facts.items()]))
        if seconds:
            say(f"\ncompiled in {duration(sum(seconds.values()))}")
        if arguments.output is not None:
            say(f"written to {arguments.output}")
    return 0

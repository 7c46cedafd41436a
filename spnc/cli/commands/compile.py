"""`spnc compile`: structure, links, checks, passes, lowering; no parameter training."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from spnc.cli.arguments import add_json, add_plugins, add_quiet, add_settings, command, settings_of

if TYPE_CHECKING:
    from spnc.graph.nodes import Graph


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = command(
        subparsers, "compile", run, "learn, check and lower a circuit, without training it"
    )
    parser.add_argument("file", help="a spec or a circuit")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the untrained model here")
    parser.add_argument(
        "--dump",
        metavar="STAGE",
        help="print the circuit as it is after a stage: forest, or the name of a pass",
    )
    add_settings(parser)
    add_plugins(parser)
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and show what came out."""
    from spnc import passes
    from spnc.api import read_thing
    from spnc.cli.output import complain, say, table, writing
    from spnc.cli.progress import observing
    from spnc.common.wording import duration
    from spnc.diagnostics import Sink, did_you_mean
    from spnc.graph.text import write_circuit_text
    from spnc.model import Model
    from spnc.pipeline import compile_recipe, lower_graph
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
    seconds: dict[str, float] = {}
    if isinstance(thing, Recipe):
        with observing(arguments.quiet) as observer:
            compiled = compile_recipe(thing, sink, observer, dump)
        model, seconds = compiled.model(), compiled.seconds
    elif isinstance(thing, Model):
        model = thing
        if arguments.dump is not None:
            graph = thing.graph()
            dump("forest", graph)
            passes.run(graph, passes.BEFORE_TRAINING, dump)
    else:
        dump("forest", thing)
        program, parameters = lower_graph(thing, dump)
        model = Model(str(thing.graph.get("name", "circuit")), program, parameters)
    if arguments.output is not None:
        with writing(arguments.output):
            model.save(arguments.output)
    complain(sink.diagnostics)
    facts = model.program.facts()
    if arguments.json:
        found: dict[str, Any] = {"ok": True, "model": facts, "seconds": seconds}
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

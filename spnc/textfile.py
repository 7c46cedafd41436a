"""Text files: read whole, or reported."""

from __future__ import annotations

from pathlib import Path

from spnc.diagnostics import Sink, Source, Span, nearest


def read_source(path: Path, sink: Sink, span: Span | None = None) -> Source | None:
    """The text of a file, or None after reporting why there is none. `span` names the file."""
    try:
        return Source(str(path), path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        reason, help = f"byte {error.start} is not UTF-8 text", "save it as UTF-8"
    except FileNotFoundError:
        reason, help = "there is no such file", None
        if path.parent.is_dir():
            near = nearest(path.name, [p.name for p in path.parent.iterdir()])
            help = f"did you mean `{path.parent / near}`?" if near is not None else None
    except OSError as error:
        reason, help = error.strerror or str(error), None
    where = None if span is not None else str(path)
    sink.error("E114", f"cannot read `{path}`: {reason}", span, help=help, where=where)
    return None

"""Text files: read whole, or reported."""

from __future__ import annotations

from pathlib import Path

from spnc.diagnostics import Sink, Source, Span, nearest


def read_source(path: Path, sink: Sink, span: Span | None = None) -> Source | None:
    """The text of a file, or None after reporting why there is none. `span` names the file.

    A byte order mark is dropped, and every kind of line end becomes a newline.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return Source(str(path), text.replace("\r\n", "\n").replace("\r", "\n"))
    except UnicodeDecodeError as error:
        reason, help = f"byte {error.start} is not UTF-8 text", "save it as UTF-8"
    except FileNotFoundError:
        reason, help = "there is no such file", None
        if path.parent.is_dir():
            near = nearest(path.name, [p.name for p in path.parent.iterdir()])
            help = f"did you mean `{path.parent / near}`?" if near is not None else None
    except IsADirectoryError:
        reason, help = "it is a folder", "name a file in it"
    except OSError as error:
        reason, help = error.strerror or str(error), None
    except ValueError as error:  # a name with a NUL character
        reason, help = str(error), None
    where = None if span is not None else str(path)
    sink.error("E114", f"cannot read `{path}`: {reason}", span, help=help, where=where)
    return None

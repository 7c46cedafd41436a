"""The interactive prompt of `spnc query`: questions in, answers out, until the end of the input."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spnc.cli.output import complain, say, table
from spnc.diagnostics import InputError

if TYPE_CHECKING:
    from spnc.model import Model

HELP = """\
  P(smoker = yes, age > 40 | sex = F)       the probability of an event, given another
  E[income | smoker = yes]                  also SD, Var, median, quantile[income, 0.9]
  E[income by region | age > 40]            a row for each region
  density of income | region = north        a curve
  most likely age, income | sex = F         the most probable values; * for all columns
  sample 5 of age, income | sex = F         rows drawn from the model
  H[age]  H[age | sex]  MI[age; income]     entropy and mutual information

  events: = != < <= > >=, in 30..40, in {north, west}, not in; and, or, not, ( )
  names and labels with spaces stand in quotes: "body mass"

  columns   the columns and their values          help   this text
  Tab completes; Ctrl-C drops a question; Ctrl-D, `exit` or `quit` ends."""
MORE = "... "
_DELIMITERS = " \t\n()[]{},;=<>!|*"  # between words that are completed
_HISTORY = "query_history"
_MOST_HISTORY = 1000  # lines kept


def converse(model: Model, seed: int, read: Callable[[str], str] = input) -> None:
    """Answer questions until the end of the input. `read` returns a line for a prompt."""
    say(f"{model.name}: {len(model.columns)} columns. Type a question, `help` or `columns`.")
    prompt = f"{model.name}> "
    while True:
        try:
            text = _read_question(read, prompt)
        except EOFError:
            say()
            return
        except KeyboardInterrupt:
            say()
            continue
        word = text.strip().rstrip("()").lower()
        if word in ("exit", "quit"):
            return
        try:
            _respond(model, word, text, seed)
        except InputError as error:
            complain(error.diagnostics)
        except KeyboardInterrupt:
            say("interrupted", aside=True)


def _respond(model: Model, word: str, text: str, seed: int) -> None:
    from spnc.data.cells import column_text

    if word == "help":
        say(HELP)
    elif word == "columns":
        rows = [(c.name, str(c), column_text(c)) for c in model.columns]
        say(table(["column", "kind", "values"], rows, left=3))
    elif word and not word.startswith("#"):
        found = model.query(text, seed)
        for answer in found if isinstance(found, list) else [found]:
            say(repr(answer))


def _read_question(read: Callable[[str], str], prompt: str) -> str:
    """Return a line, and those after it as long as a bracket is open."""
    from spnc.questions.splitting import split

    text = read(prompt)
    while (pieces := split(text)) and pieces[-1].open_bracket is not None:
        more = read(MORE)
        if not more.strip():  # an empty line ends a question that nothing can close
            return text
        text += "\n" + more
    return text


@contextlib.contextmanager
def line_editing(model: Model) -> Iterator[None]:
    """Edit lines with history and completion, where readline is available."""
    try:
        import readline
    except ImportError:  # Windows
        yield
        return
    from spnc.questions.completion import completions

    def complete(text: str, state: int) -> str | None:
        line = readline.get_line_buffer()[: readline.get_endidx()]
        start, words = completions(line, model.columns)
        kept = len(line) - len(text) - start  # typed before the word that readline replaces
        found = [word[kept:] for word in words]
        return found[state] if state < len(found) else None

    history = _history_file()
    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    readline.set_completer_delims(_DELIMITERS)
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)
        readline.set_history_length(_MOST_HISTORY)
        with contextlib.suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def _history_file() -> Path:
    from spnc.data.debd import cache_folder

    return cache_folder().parent / _HISTORY

"""The comments of a spec, in either notation, by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from spnc.spec.recipe import Recipe

# Control characters, which YAML does not allow, and signs at which it ends a comment.
_NOT_IN_YAML = re.compile(
    "[^\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


@dataclass
class Comments:
    """The comments of a text. Each is handed out once, to the line that it belongs to."""

    own_line: list[tuple[int, str]] = field(default_factory=list)
    trailing: dict[int, str] = field(default_factory=dict)

    def before(self, line: int) -> list[str]:
        """Hand out the comments on lines of their own above a line."""
        found = [text for at, text in self.own_line if at < line]
        self.own_line = [(at, text) for at, text in self.own_line if at >= line]
        return found

    def beside(self, line: int) -> str | None:
        """Hand out the comment at the end of a line."""
        return self.trailing.pop(line, None)

    def rest(self) -> list[str]:
        """The comments that were not handed out."""
        return [text for _, text in sorted([*self.own_line, *self.trailing.items()])]


def comments_of(recipe: Recipe) -> Comments:
    """The comments of the text that a recipe was read from."""
    span = recipe.spans.get("")
    found = Comments()
    if span is None:
        return found
    source = span.source
    starts = dsl_comments if source.name.lower().endswith(".spn") else _yaml_comments
    for start in starts(source.text):
        before = source.text[:start]
        number = before.count("\n") + 1
        text = source.text[start:].split("\n", 1)[0].rstrip()
        text = _NOT_IN_YAML.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
        if before.rsplit("\n", 1)[-1].strip():
            found.trailing[number] = text
        else:
            found.own_line.append((number, text))
    return found


def dsl_comments(text: str) -> Iterator[int]:
    """Where comments start in the language, in specs and circuits: at any `#` outside of quotes."""
    for match in re.finditer(r""""[^"\n]*"|'[^'\n]*'|#[^\n]*""", text):
        if match[0].startswith("#"):
            yield match.start()


def _yaml_comments(text: str) -> Iterator[int]:
    """Where comments start in YAML: at a `#` after a space, outside of scalars."""
    scalars = [t for t in yaml.scan(text) if isinstance(t, yaml.ScalarToken)]
    ends = [(t.start_mark.index, t.end_mark.index) for t in scalars]
    sign = re.compile(r"(?m)(?:^|(?<=\s))#")
    match = sign.search(text)
    while match is not None:
        at = match.start()
        after = next((end for start, end in ends if start <= at < end), None)
        if after is None:
            yield at
            after = text.find("\n", at)
            if after < 0:
                return
        match = sign.search(text, after)

"""Changes to inputs: of bytes, of the words of a text, of JSON values and of arrays.

Every function takes its randomness from a `Random`, so the same seed gives the same inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CHANGES = 4  # in one input; more of them hide each other
LONGEST_RUN = 30  # bytes or words that one change takes out
GRAMMARS = Path(__file__).resolve().parents[2] / "grammars"
# What random bytes seldom give: signs of the notations, and numbers and words at the edges.
SCRAPS: tuple[bytes, ...] = (
    *(c.encode() for c in "(){}[]<>:;,.=+-*/~#&!?|@%\"'`\\ \t\r\n\0xX_0²٣é天\u2028\ufeff\u202e"),
    *(b"null", b"none", b"true", b"NaN", b"inf", b"-inf", b"-0", b"-1", b"0", b"1", b"0.5", b"1/0"),
    *(b"1e308", b"1e-320", b"1e999", b"9" * 20, b"9" * 400, b"9" * 5000, b"0x10", b"1_000"),
    *(b"2020-01-31", b"0000-00-00", b"12:60", b"9999-12-31T23:59:60Z", b"1,5", b"1.000,5", b"5%"),
    *(b"[" * 300, b"(" * 300, b"{" * 300, b"- " * 300, b"\\ud800", b"\xff", b"\xf0\x9f", b"\r\n"),
)
_WORDS = re.compile(rb"\w+|\s+|[^\w\s]", re.ASCII)
_TERMINALS = re.compile(r'"([^"\\\s]+)"')
# Numbers at which types, signs and roundings change.
_NUMBERS: tuple[float, ...] = (
    *(0, 1, -1, 2, 3, 0.5, -0.0, 1e-12, 1e-320, 1e308, -1e308, 1e-300, 127, 128, 255, 256),
    *(2**31 - 1, 2**31, 2**32, 2**53 + 1, float("nan"), float("inf"), float("-inf")),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 1e308, -0.0, 2**31, 2**63, 2**64, 10**400),
    *(float("nan"), float("inf"), "", "a", "0", "0.5", "\u202e", "\0", "binary", "categorical"),
    *([], {}, [[]], [1, 2], ["a", "a"], {"a": 1}, {"kind": "sum"}),
)
_TYPES = ("?", "i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8")


def grammar_words(file: str) -> tuple[bytes, ...]:
    """Return the keywords and signs of a grammar."""
    text = (GRAMMARS / file).read_text("utf-8")
    return tuple(sorted({word.encode() for word in _TERMINALS.findall(text)}))


def mutated_bytes(content: bytes, random: Random, words: Sequence[bytes] = ()) -> bytes:
    """Return the content with some bytes and scraps changed, lost, doubled or moved.

    `words` are scraps of the input's own notation.
    """
    for _ in range(random.randint(1, MOST_CHANGES)):
        at = random.randint(0, len(content))
        run = random.randint(1, LONGEST_RUN)
        scrap = random.choice(words if words and random.random() < 0.5 else SCRAPS)
        match random.randrange(7):
            case 0:
                content = content[:at] + scrap + content[at:]
            case 1:
                content = content[:at] + scrap + content[at + run :]
            case 2:
                content = content[:at] + content[at + run :]
            case 3:
                content = content[:at] + random.randbytes(1) + content[at + 1 :]
            case 4:
                content = content[:at] + content[at : at + run] * 2 + content[at + run :]
            case 5:
                content = _other_lines(content, random)
            case 6:
                content = content[:at] if random.random() < 0.2 else _flipped(content, random)
    return content


def mutated_words(content: bytes, random: Random, words: Sequence[bytes]) -> bytes:
    """Return a text with some of its words replaced, removed, inserted, doubled or swapped."""
    found = _WORDS.findall(content) or [b""]
    for _ in range(random.randint(1, MOST_CHANGES)):
        at = random.randrange(len(found))
        known = random.choice((words or SCRAPS, SCRAPS, found))
        match random.randrange(5):
            case 0:
                found[at] = random.choice(known)
            case 1:
                found.insert(at, random.choice(known))
            case 2:
                del found[at : at + random.randint(1, LONGEST_RUN)]
            case 3:
                stop = at + random.randint(1, LONGEST_RUN)
                found[at:at] = found[at:stop]
            case 4:
                other = random.randrange(len(found))
                found[at], found[other] = found[other], found[at]
        found = found or [b""]
    return b"".join(found)


def mutated_text(content: bytes, random: Random, words: Sequence[bytes]) -> bytes:
    """Return a text with changed characters or changed words."""
    if random.random() < 0.5:
        return mutated_words(content, random, words)
    return mutated_bytes(content, random, words)


def mutated_json(value: Any, random: Random) -> Any:
    """Return a JSON value with another value, or one part less or twice, in a random place."""
    path = random.choice(list(_places(value)))
    if not path or random.random() < 0.6:
        return _replaced(value, path, _other_value(_part(value, path), random))
    inside = _part(value, path[:-1])
    key = path[-1]
    if isinstance(inside, dict):
        left = {k: v for k, v in inside.items() if k != key}
        if random.random() < 0.5:
            left[random.choice((f"{key}_", "", *map(str, inside)))] = inside[key]
        return _replaced(value, path[:-1], left)
    assert isinstance(key, int)
    again = inside[key : key + 1] * random.choice((0, 2))
    return _replaced(value, path[:-1], inside[:key] + again + inside[key + 1 :])


def mutated_array(array: NDArray[Any], random: Random) -> NDArray[Any]:
    """Return an array with other elements, or of another shape or type."""
    array = array.copy()
    with np.errstate(all="ignore"):
        match random.randrange(8):
            case 0 | 1 | 2 | 3 if array.size:
                at = random.randrange(array.size)
                array.flat[at] = np.asarray(_other_number(array, random)).astype(array.dtype)
            case 4 if array.size:
                array = np.delete(array, random.randrange(array.shape[0]), axis=0)
            case 5 if array.size:
                array = np.concatenate([array, array[: random.randint(1, len(array))]])
            case 6:
                array = array.astype(random.choice(_TYPES))
            case _:
                array = array.reshape(random.choice(((-1,), (1, -1), (-1, 1), array.shape[::-1])))
    return np.ascontiguousarray(array)


def mutated_arrays(arrays: dict[str, NDArray[Any]], random: Random) -> dict[str, NDArray[Any]]:
    """Return named arrays with one that is changed, lost, renamed or exchanged with another."""
    arrays = dict(arrays)
    if not arrays:
        return arrays
    name, other = random.choice(list(arrays)), random.choice(list(arrays))
    match random.randrange(10):
        case 0:
            del arrays[name]
        case 1:
            arrays[f"{name}0"] = arrays.pop(name)
        case 2:
            arrays[name], arrays[other] = arrays[other], arrays[name]
        case _:
            arrays[name] = mutated_array(arrays[name], random)
    return arrays


def _other_lines(content: bytes, random: Random) -> bytes:
    """Return the content with one line moved, doubled or lost."""
    lines = content.split(b"\n")
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.randint(0, 2)):
        lines.insert(random.randint(0, len(lines)), line)
    return b"\n".join(lines)


def _flipped(content: bytes, random: Random) -> bytes:
    """Return the content with one bit changed."""
    if not content:
        return content
    changed = bytearray(content)
    changed[random.randrange(len(content))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _other_number(array: NDArray[Any], random: Random) -> Any:
    """Return a number for an array: one of its own, one near to it, or one at an edge."""
    value = array.flat[random.randrange(array.size)]
    choice = random.randrange(3)
    if choice == 0:
        return value
    return float(value) + random.choice((-1, 1, 1e-9)) if choice == 1 else random.choice(_NUMBERS)


def _other_value(value: Any, random: Random) -> Any:
    """Return another JSON value: often a small change of the old one."""
    if random.random() < 0.5:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + random.choice((-1, 1, 100))
        if isinstance(value, float):
            return value * random.choice((-1, 0, 0.5, 2, 1e300))
        if isinstance(value, str):
            words = mutated_bytes(value.encode("utf-8", "surrogatepass"), random)
            return words.decode("utf-8", "replace")
    return random.choice(_VALUES)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a JSON value."""
    yield path
    pairs: Any = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else pairs:
        yield from _places(inner, (*path, key))


def _part(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return the value with another part at the path."""
    if not path:
        return new
    inner = _replaced(value[path[0]], path[1:], new)
    if isinstance(value, dict):
        return {**value, path[0]: inner}
    return [*value[: path[0]], inner, *value[path[0] + 1 :]]

"""Ways in which a file gets damaged, each drawn at random."""

from __future__ import annotations

import random as randomness
from collections.abc import Callable

from tests.sealing import flipped

_LARGEST_BLOCK = 512  # bytes: a sector of a disk


def one_bit(content: bytes, random: randomness.Random) -> bytes:
    """Return the content with one bit changed."""
    return flipped(content, random.randrange(8 * len(content)))


def some_bytes(content: bytes, random: randomness.Random) -> bytes:
    """Return the content with one to four other bytes."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 4)):
        changed[random.randrange(len(content))] = random.randrange(256)
    return bytes(changed)


def cut_short(content: bytes, random: randomness.Random) -> bytes:
    """Return the beginning of the content."""
    return content[: random.randrange(len(content))]


def longer(content: bytes, random: randomness.Random) -> bytes:
    """Return the content with bytes behind it: random ones, or a part of the content."""
    size = random.randint(1, _LARGEST_BLOCK)
    if random.random() < 0.5:
        return content + random.randbytes(size)
    at = random.randrange(len(content))
    return content + content[at : at + size]


def zeroed(content: bytes, random: randomness.Random) -> bytes:
    """Return the content with a block of zeros in it."""
    at = random.randrange(len(content))
    size = min(random.randint(1, _LARGEST_BLOCK), len(content) - at)
    return content[:at] + bytes(size) + content[at + size :]


def exchanged(content: bytes, random: randomness.Random) -> bytes:
    """Return the content with two blocks of one size in each other's place."""
    size = random.randint(1, max(1, min(_LARGEST_BLOCK, len(content) // 2)))
    first, second = sorted(random.randrange(len(content) - size + 1) for _ in range(2))
    second = min(max(second, first + size), len(content) - size)
    one, two = content[first : first + size], content[second : second + size]
    if second < first + size:
        return content
    return content[:first] + two + content[first + size : second] + one + content[second + size :]


# Half of all damages are single bits, which are the hardest to notice.
WAYS: dict[Callable[[bytes, randomness.Random], bytes], int] = {
    one_bit: 50,
    some_bytes: 15,
    cut_short: 10,
    longer: 5,
    zeroed: 10,
    exchanged: 10,
}


def damaged(content: bytes, random: randomness.Random) -> bytes:
    """Return the content changed in one of these ways; never as it was."""
    while True:
        (way,) = random.choices(list(WAYS), list(WAYS.values()))
        found = way(content, random)
        if found != content:
            return found

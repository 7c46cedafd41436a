"""Changing files that carry a checksum, with or without a new checksum."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spnc.common.sealed import read_sealed_arrays, read_sealed_json, sealed_arrays, sealed_json


def json_resealed(path: Path, **changes: Any) -> None:
    """Change some entries of a file of JSON, as somebody would who computes its checksum anew."""
    about = {**read_sealed_json(path.read_bytes()), **changes}
    about.pop("sha256")
    path.write_bytes(sealed_json(about))


def arrays_resealed(
    path: Path, key: str, change: Callable[[dict[str, Any], dict[str, Any]], None]
) -> None:
    """Change description and arrays of a safetensors file, and compute its checksum anew."""
    about, tensors = read_sealed_arrays(key, path.read_bytes())
    own = dict(tensors)
    about.pop("sha256")
    change(about, own)
    path.write_bytes(sealed_arrays(key, about, own))


def flipped(content: bytes, bit: int) -> bytes:
    """Return content with one bit changed."""
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << (bit % 8)
    return bytes(damaged)

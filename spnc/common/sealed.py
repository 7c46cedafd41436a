"""Files that carry a checksum of themselves, so that damage is noticed before anything is read.

There are two kinds: safetensors files, which hold arrays and one text of JSON, the description; and
plain files of JSON. Both begin, as far as their format lets them, with a SHA-256 of the whole file,
computed with zeros in its place. It protects from damage, not from forgery: whoever changes a file
can compute a new checksum.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from numpy.typing import NDArray

Tensors = Mapping[str, NDArray[Any]]
_NO_DIGEST = "0" * 64
_LONGEST_HEADER = 100_000_000  # bytes; safetensors itself accepts no longer one
_TEXT_SEAL = b'"sha256": "'  # what stands before the checksum in a file of JSON
_ARRAYS_SEAL = b'\\"sha256\\": \\"'  # and in a description, as the file's header quotes it


class DamagedError(ValueError):
    """A file is not what was written."""


def sealed_arrays(key: str, about: Mapping[str, Any], tensors: Tensors) -> bytes:
    """Return a safetensors file with these arrays, and a description under this key."""
    from safetensors.numpy import save

    # One key only: the order of several would change from run to run.
    return _sealed(save(dict(tensors), metadata={key: _described(about)}), _ARRAYS_SEAL)


def sealed_json(about: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return a file of JSON, its entries in the given order."""
    text = json.dumps({"sha256": _NO_DIGEST, **about}, indent=indent)
    return _sealed(text.encode() + b"\n", _TEXT_SEAL)


def arrays_are_intact(about: Mapping[str, Any], content: bytes) -> bool:
    """Return whether the checksum in a description is that of the safetensors file it is from."""
    return _is_intact(about, content, _ARRAYS_SEAL)


def read_sealed_arrays(key: str, content: bytes) -> tuple[dict[str, Any], Tensors]:
    """Return the description and the arrays of a safetensors file. Raises `DamagedError`."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    about = read_description(key, io.BytesIO(content))
    if not _is_intact(about, content, _ARRAYS_SEAL):
        raise DamagedError("it has changed since it was written: its checksum is wrong")
    try:
        return about, load(content)
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise DamagedError((str(error) or type(error).__name__).splitlines()[0]) from error


def read_description(key: str, file: BinaryIO) -> dict[str, Any]:
    """Return the description in an open safetensors file, unchecked. Raises `DamagedError`."""
    try:
        size = int.from_bytes(file.read(8), "little")
        if size > _LONGEST_HEADER:
            raise ValueError("its header is too long")
        about = json.loads(json.loads(file.read(size))["__metadata__"][key])
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise DamagedError("it is damaged, or not of this kind") from error
    if not isinstance(about, dict):
        raise DamagedError("it is damaged, or not of this kind")
    return about


def read_sealed_json(content: bytes) -> dict[str, Any]:
    """Return what is in a file of JSON. Raises `DamagedError`."""
    try:
        about = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedError("it is damaged, or not of this kind") from error
    if not isinstance(about, dict) or not _is_intact(about, content, _TEXT_SEAL):
        raise DamagedError("it has changed since it was written: its checksum is wrong")
    return about


def _described(about: Mapping[str, Any]) -> str:
    text = json.dumps(about, sort_keys=True)
    return f'{{"sha256": "{_NO_DIGEST}", {text[1:]}'


def _sealed(content: bytes, seal: bytes) -> bytes:
    at = content.index(seal) + len(seal)
    return content[:at] + _digest(content, at) + content[at + len(_NO_DIGEST) :]


def _is_intact(about: Mapping[str, Any], content: bytes, seal: bytes) -> bool:
    at = content.find(seal) + len(seal)
    return at >= len(seal) and about.get("sha256") == _digest(content, at).decode()


def _digest(content: bytes, at: int) -> bytes:
    """Return the checksum of a file that holds its checksum at this place."""
    sha = hashlib.sha256(content[:at])
    sha.update(_NO_DIGEST.encode())
    sha.update(memoryview(content)[at + len(_NO_DIGEST) :])
    return sha.hexdigest().encode()

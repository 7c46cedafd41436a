"""NPY and NPZ files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.harness import Harness, Input
from tests.fuzz.mutation import mutated_array, mutated_bytes, mutated_words
from tests.fuzz.table_reading import check_table

_ARRAYS: tuple[NDArray[Any], ...] = (
    np.array([[0, 1], [1, 0], [1, 1]]),
    np.array([[0.5, np.nan], [1e308, -0.0]]),
    np.array([[True, False], [False, True]]),
    np.arange(12, dtype=np.uint8).reshape(3, 4),
    np.array([[1, 2], [3, 4]], dtype=">i2"),
    np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2)),
    np.array([[2**64 - 1, 0], [1, 2]], dtype=np.uint64),
    np.array([["a", "b"]]),
    np.array([(1, 2.5)], dtype=[("x", "i4"), ("y", "f8")]),
    np.array([["2020-01-31"]], dtype="M8[D]"),
)
# Parts of the header of an NPY file, which is the text of a Python dict.
_WORDS = (
    *(
        b"descr",
        b"fortran_order",
        b"shape",
        b"True",
        b"False",
        b"'<f8'",
        b"'|O'",
        b"'|V8'",
        b"'<U1'",
    ),
    *(
        b"'<f2'",
        b"'<f16'",
        b"'<c16'",
        b"'|b1'",
        b"'M8[D]'",
        b"[('x', '<i4')]",
        b"(3, 2)",
        b"(0, 2)",
    ),
    *(b"(2, 0)", b"(-1, 2)", b"(2,)", b"()", b"(1, 1, 1)", b"(99999, 99999)", b"None", b"{", b"}"),
)
_NAMES = ("train", "valid", "test", "arr_0", "", "train.npy", "../a", "train\0", "é")


class ArrayFiles(Harness):
    """A table is read, summarised, and read again with the columns that were found."""

    name = "npz"
    endings = (".npy", ".npz")

    def seeds(self) -> Iterable[Input]:
        """Return arrays of many types, alone and as splits."""
        yield from self.files("tests/golden/*/data/*")
        members = {}
        for name, array in zip(("train", "valid", "test"), _ARRAYS[::3], strict=False):
            members[f"{name}.npy"] = _npy(array)
        yield Input(".npz", _npz(members))
        for array in _ARRAYS:
            yield Input(".npy", _npy(array))
            yield Input(".npz", _npz({"arr_0.npy": _npy(array)}))

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the file with changed bytes, headers, arrays or members."""
        if random.random() < 0.2:
            return mutated_bytes(given.content, random)
        if given.ending == ".npy":
            return _other_npy(given.content, random)
        try:
            with zipfile.ZipFile(BytesIO(given.content)) as archive:
                small = [m for m in archive.infolist() if m.file_size < 1 << 20]
                members = {m.filename: archive.read(m) for m in small}
        except Exception:  # zipfile raises many kinds for damaged files
            return mutated_bytes(given.content, random)
        name = random.choice([*members, f"{random.choice(_NAMES)}.npy"])
        content = members.pop(name, None)
        if content is None:
            content = _npy(random.choice(_ARRAYS))
        if random.random() < 0.9:
            renamed = random.random() < 0.2
            members[random.choice(_NAMES) if renamed else name] = _other_npy(content, random)
        return _npz(members, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))

    def read(self, path: Path) -> None:
        """Read a table, as `spnc data show` and then `spnc eval` do."""
        check_table(path)


def _other_npy(content: bytes, random: Random) -> bytes:
    """Return another NPY file: with another array, with another header, or damaged."""
    choice = random.randrange(3)
    if choice == 0:
        return mutated_bytes(content, random, _WORDS)
    try:
        array = np.load(BytesIO(content), allow_pickle=False)
    except Exception:  # numpy raises many kinds for damaged files
        array = random.choice(_ARRAYS)
    if not isinstance(array, np.ndarray):  # an archive, whatever its ending
        return mutated_bytes(content, random, _WORDS)
    if choice == 1 and array.dtype.kind in "buif" and array.ndim and array.size:
        return _npy(mutated_array(array, random))
    content = _npy(array)
    length = int.from_bytes(content[8:10], "little")
    header = mutated_words(content[10 : 10 + length], random, _WORDS)[: 2**16 - 1]
    return content[:8] + len(header).to_bytes(2, "little") + header + content[10 + length :]


def _npy(array: NDArray[Any]) -> bytes:
    stream = BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _npz(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive; its bytes depend on nothing but its members."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()

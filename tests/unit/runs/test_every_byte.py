"""Every byte of the small files of run folders, and 20,000 bits of a larger one, changed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from benchmarks.attack.damaging import read_damaged
from benchmarks.attack.victims import Victim, victims
from spnc.common.sealed import DamagedError, read_sealed_arrays, read_sealed_json
from spnc.program.model_file import FORMAT as MODEL
from spnc.runs import folder, kept_data, kept_work
from spnc.runs.checkpoint import FORMAT as CHECKPOINT
from spnc.runs.kept_work import ENDING
from spnc.runs.kept_work import FORMAT as KEPT_WORK
from tests.sealing import flipped

KEPT_OFTEN = ((folder, "CHECKPOINT_SECONDS"), (kept_work, "SECONDS"), (kept_data, "SECONDS"))
RESUMED = ("recipe.lock.yaml", "in-use.json", "recipe.yaml")  # files that resuming does not need


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Victim]]:
    """Every file of finished and unfinished runs, with what reads it."""
    with pytest.MonkeyPatch.context() as patch:  # `victims` lets this process keep all work
        for module, name in KEPT_OFTEN:
            patch.setattr(module, name, getattr(module, name))
        yield victims(tmp_path_factory.mktemp("runs"))


def a_bit_of_every_byte(size: int) -> list[int]:
    own = random.Random(size)
    return [8 * byte + own.randrange(8) for byte in range(size)]


def outcomes(victim: Victim, bits: Iterable[int]) -> set[str]:
    """What comes of a file with each of these bits changed."""
    content = victim.path.read_bytes()
    wanted = victim.read(victim.folder)
    found = set()
    for bit in bits:
        outcome, why = read_damaged(victim, content, wanted, flipped(content, bit))
        assert outcome in ("refused", "identical"), f"{victim.name}, {victim.reader}: {why}"
        found.add(outcome)
    return found


@pytest.mark.parametrize("reader", ["spnc report", "spnc plot history", "as a spec", "a call"])
def test_every_byte_of_what_a_finished_run_leaves(files: list[Victim], reader: str) -> None:
    own = {victim.name: victim for victim in files if victim.reader == reader}
    assert own
    for victim in own.values():
        size = victim.path.stat().st_size
        bits = a_bit_of_every_byte(size)
        if size > 4000:  # models and machine code, whose bytes are all under one checksum
            bits = random.Random(0).sample(bits, 300)
        found = outcomes(victim, bits)
        # Comments and layout of a lock file may change when it is used as a spec.
        assert found == ({"refused", "identical"} if reader == "as a spec" else {"refused"})


def test_20_000_bits_of_a_model(files: list[Victim]) -> None:
    """All by the checksum, some by loading the file."""
    largest = max((f for f in files if f.file == "model.spnc"), key=lambda f: f.path.stat().st_size)
    content = largest.path.read_bytes()
    bits = random.Random(0).sample(range(8 * len(content)), 20_000)
    for bit in bits:
        with pytest.raises(DamagedError):
            read_sealed_arrays(MODEL, flipped(content, bit))
    loaded = next(victim for victim in files if victim.reader == "spnc.load")
    assert outcomes(loaded, a_bit_of_every_byte(loaded.path.stat().st_size)) == {"refused"}


def test_every_byte_of_what_an_unfinished_run_leaves(files: list[Victim]) -> None:
    """All by the checksum; some by resuming, which has to refuse them or to end as usual."""
    unfinished = [victim for victim in files if victim.reader.startswith("resuming")]
    names = {victim.name for victim in unfinished}
    assert names >= {"checkpoint.safetensors", "search.json", "best-N.spnc", "in-use.json"}
    for victim in unfinished:
        content = victim.path.read_bytes()
        bits = a_bit_of_every_byte(len(content))
        if victim.name not in RESUMED:
            for bit in bits:
                with pytest.raises(DamagedError):
                    read_checked(victim.path, flipped(content, bit))
        found = outcomes(victim, random.Random(0).sample(bits, 4))
        # Kept work that is damaged is done again; where its header is, it may be of another run.
        if victim.path.suffix == ENDING:
            assert found <= {"refused", "identical"}
        else:
            assert found == ({"identical"} if victim.name in RESUMED else {"refused"})


def read_checked(path: Path, content: bytes) -> object:
    """Read what carries a checksum of itself, as journals and checkpoints are read."""
    if path.suffix == ".json":
        return read_sealed_json(content)
    formats = {".spnc": MODEL, ENDING: KEPT_WORK}
    return read_sealed_arrays(formats.get(path.suffix, CHECKPOINT), content)

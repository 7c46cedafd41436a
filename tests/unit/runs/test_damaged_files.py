"""Checkpoints and lock files that are damaged, forged or of another run."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import spnc
from benchmarks.attack.damage import exchanged
from spnc.cli import main
from spnc.common.sealed import DamagedError, read_sealed_arrays
from spnc.diagnostics import Sink
from spnc.runs.lock import recipe_text
from spnc.spec.read import read_recipe
from tests.interrupting import interrupted
from tests.sealing import arrays_resealed, flipped


def test_a_checkpoint_of_another_recipe_is_refused(spec: str, capsys) -> None:
    interrupted(spec, out="cut")
    assert main(["train", spec, "--out", "cut", "--resume", "--seed", "8"]) == 1
    assert "another recipe" in capsys.readouterr().err
    assert main(["train", spec, "--out", "cut", "--resume", "--set", "smoothing=0.2"]) == 1
    assert "another recipe" in capsys.readouterr().err
    assert main(["train", spec, "--out", "cut", "--resume", "--set", "data.split_seed=1"]) == 1
    assert "another recipe" in capsys.readouterr().err
    Path("cut/checkpoint.safetensors").write_bytes(b"junk")
    assert main(["train", spec, "--out", "cut", "--resume"]) == 1
    assert "cannot be read" in capsys.readouterr().err


def forget_fingerprint(about: dict, tensors: dict) -> None:
    del about["fingerprint"]


def shorten_weights(about: dict, tensors: dict) -> None:
    tensors["weights"] = tensors["weights"][:-1]


def halve_precision(about: dict, tensors: dict) -> None:
    tensors["best.weights"] = tensors["best.weights"].astype(np.float32)


def lose_best(about: dict, tensors: dict) -> None:
    about["best_iteration"] = 99


def write_words(about: dict, tensors: dict) -> None:
    about["history"][0][1] = "good"


def lose_history(about: dict, tensors: dict) -> None:
    about["history"] = []


def scale_weights(about: dict, tensors: dict) -> None:
    tensors["weights"] = 5.0 * tensors["weights"]


def scale_best_leaves(about: dict, tensors: dict) -> None:
    tensors["best.tables.0"] = 5.0 * tensors["best.tables.0"]


@pytest.mark.parametrize(
    "damage",
    [
        forget_fingerprint, shorten_weights, halve_precision, lose_best, write_words, lose_history,
        scale_weights, scale_best_leaves,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_wrong_checkpoint_is_refused_whatever_its_checksum(spec: str, capsys, damage) -> None:
    interrupted(spec, out="cut")
    arrays_resealed(Path("cut/checkpoint.safetensors"), "spnc-checkpoint", damage)
    assert main(["train", spec, "--out", "cut", "--resume"]) == 1
    assert "E403" in capsys.readouterr().err
    assert not Path("cut/model.spnc").exists()


def test_every_changed_bit_of_a_checkpoint_is_noticed(spec: str) -> None:
    """Five hundred of them; none goes on from another state."""
    interrupted(spec, out="cut")
    file = Path("cut/checkpoint.safetensors")
    content = file.read_bytes()
    bits = np.random.default_rng(0).integers(8 * len(content), size=500).tolist()
    for bit in [0, 8 * len(content) - 1, *bits]:
        with pytest.raises(DamagedError):
            read_sealed_arrays("spnc-checkpoint", flipped(content, bit))
    file.write_bytes(flipped(content, bits[0]))
    assert main(["train", spec, "--out", "cut", "--resume"]) == 1
    assert not Path("cut/model.spnc").exists()


def test_a_lock_file_that_was_changed_is_refused(spec: str, capsys) -> None:
    """Any bit of it: what is accepted gives the same model."""
    assert main(["train", spec, "--out", "one"]) == 0
    lock = Path("one/recipe.lock.yaml")
    content = lock.read_bytes()
    bits = np.random.default_rng(0).integers(8 * len(content), size=300).tolist()
    changed = Path("one/changed.yaml")
    accepted = 0
    for bit in bits:
        changed.write_bytes(flipped(content, bit))
        sink = Sink()
        try:
            found = read_recipe(changed, sink)
        except spnc.InputError:
            continue
        if found is not None and not sink.failed:
            accepted += 1
            wanted = recipe_text(sink.require(read_recipe(lock, Sink())))
            assert recipe_text(found) == wanted
    assert accepted < len(bits) / 2  # most of the rest are bits of comments and of the lock
    changed.write_bytes(b"# a comment\n" + content)
    assert main(["train", str(changed), "--out", "two", "--quiet"]) == 0
    assert Path("two/model.spnc").read_bytes() == Path("one/model.spnc").read_bytes()
    assert main(["format", str(lock), "-o", "again.yaml"]) == 0
    assert main(["check", "again.yaml"]) == 0


def test_a_lock_file_that_was_cut_short_is_refused(spec: str) -> None:
    """Its lock comes first: without the lock, the defaults would stand for what was cut off."""
    assert main(["train", spec, "--out", "one", "--quiet"]) == 0
    content = Path("one/recipe.lock.yaml").read_bytes()
    wanted = recipe_text(Sink().require(read_recipe(Path("one/recipe.lock.yaml"), Sink())))
    ends = [i for i, byte in enumerate(content) if byte in b"\n,: "]
    for end in ends:
        Path("cut.yaml").write_bytes(content[:end])
        sink = Sink()
        found = read_recipe(Path("cut.yaml"), sink)
        assert sink.failed or (found is not None and recipe_text(found) == wanted)


def test_a_lock_file_whose_blocks_were_exchanged_is_refused(spec: str) -> None:
    """Even if the lock lands within a text, so that what is left is a spec without a lock."""
    assert main(["train", spec, "--out", "one", "--quiet"]) == 0
    lock = Path("one/recipe.lock.yaml")
    content = lock.read_bytes()
    wanted = recipe_text(Sink().require(read_recipe(lock, Sink())))
    random, refused = Random(5), 0
    for _ in range(1500):
        lock.write_bytes(exchanged(content, random))
        sink = Sink()
        found = read_recipe(lock, sink)
        refused += sink.failed
        assert sink.failed or (found is not None and recipe_text(found) == wanted)
    assert refused > 1000
    text = content.decode()
    without = text[: text.index("lock:")] + text[text.index("model:") :]
    for left in (without, without.partition("\n")[2], without.rpartition("# End")[0]):
        lock.write_text(left)
        sink = Sink()
        read_recipe(lock, sink)
        assert [d.code for d in sink.diagnostics] == ["E407"], left

"""The garbage collector is as it was once a graph has been built, also after an error."""

from __future__ import annotations

import gc

import pytest

import spnc
from spnc.common.gc_pause import gc_paused


def test_collection_is_off_inside_and_on_again_afterwards() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_refused_circuit_leaves_collection_on() -> None:
    with pytest.raises(spnc.InputError):
        spnc.compile({"nodes": []})
    assert gc.isenabled()

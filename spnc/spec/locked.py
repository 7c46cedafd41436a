"""Whether a locked spec still says what it said when it was locked.

The digest is of the syntax tree, all but `lock`: comments and layout may change, values may not. It
is compared before `--set` and other changes that a user makes on purpose.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from spnc.diagnostics import Sink, Source
from spnc.spec.tree import Mapping, Scalar, Tree
from spnc.spec.yaml_reader import read_yaml


def digest_of_text(text: str) -> str:
    """Return the digest of a spec in YAML that spnc wrote itself."""
    tree = read_yaml(Source("lock.yaml", text), Sink())
    assert tree is not None
    return _digest(tree)


def check_locked_spec(tree: Tree, sink: Sink) -> None:
    """Report a spec whose lock has the digest of another (E407)."""
    lock = tree.get("lock") if isinstance(tree, Mapping) else None
    entry = lock.value.get("spec") if lock is not None and isinstance(lock.value, Mapping) else None
    none = (None, "none")  # what a spec that was laid out anew says
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.value in none:
        return
    found = _digest(tree)
    if entry.value.value != found:
        sink.error(
            "E407",
            "the spec has changed since it was locked",
            entry.value.span,
            notes=[f"it now has the SHA-256 {found}"],
            help="restore the file; to train the spec as it is now, remove `lock`",
        )


def _digest(tree: Tree) -> str:
    return hashlib.sha256(json.dumps(_plain(tree, top=True)).encode()).hexdigest()


def _plain(tree: Tree, *, top: bool = False) -> Any:
    """Return a tree as plain values that differ if its meaning does."""
    if isinstance(tree, Scalar):
        return [type(tree.value).__name__, repr(tree.value), tree.quoted]
    if isinstance(tree, Mapping):
        entries = [e for e in tree.entries if not (top and e.key == "lock")]
        head = None if tree.head is None else _plain(tree.head)
        return {"head": head, "entries": [[e.key, _plain(e.value)] for e in entries]}
    return [_plain(item) for item in tree.items]

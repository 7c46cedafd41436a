"""Whether a locked spec still says what it said when it was locked.

The digest is of the syntax tree, all but the digest itself: comments and layout may change, values
may not. It is compared before `--set` and other changes that a user makes on purpose. A lock
without a digest is one that has lost it: `spec: none` says that there is none.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from spnc.diagnostics import Sink, Source
from spnc.spec.tree import Mapping, Scalar, Tree
from spnc.spec.yaml_reader import read_yaml

NO_DIGEST = "none"  # in place of the digest of a spec that was laid out anew
# The first and the last line of a locked spec. One of them is enough to tell that the lock is lost.
HEAD = "# Written by spnc: every option of the run, and what it was made from.\n"
TAIL = "# End of the locked spec.\n"
_SIGNS = ("# Written by spnc", "of the locked spec.")
_ITSELF = ("lock", "spec")


def digest_of_text(text: str) -> str:
    """Return the digest of a spec in YAML that spnc wrote itself."""
    tree = read_yaml(Source("lock.yaml", text), Sink())
    assert tree is not None
    return _digest(tree)


def check_locked_spec(tree: Tree, sink: Sink) -> None:
    """Report a spec whose lock has the digest of another, or none (E407)."""
    lock = tree.get("lock") if isinstance(tree, Mapping) else None
    how = "restore the file; to train the spec as it is now, remove `lock` and the comments of spnc"
    if lock is None and any(sign in tree.span.source.text for sign in _SIGNS):
        sink.error(
            "E407", "the locked spec has lost its lock", where=tree.span.source.name, help=how
        )
    if lock is None or not isinstance(lock.value, Mapping):
        return
    entry = lock.value.get("spec")
    if entry is None:
        sink.error("E407", "the lock has lost the digest of its spec", lock.key_span, help=how)
        return
    none = (None, NO_DIGEST)
    if not isinstance(entry.value, Scalar) or entry.value.value in none:
        return
    found = _digest(tree)
    if entry.value.value != found:
        sink.error(
            "E407",
            "the spec has changed since it was locked",
            entry.value.span,
            notes=[f"it now has the SHA-256 {found}"],
            help=how,
        )


def _digest(tree: Tree) -> str:
    return hashlib.sha256(json.dumps(_plain(tree)).encode()).hexdigest()


def _plain(tree: Tree, *path: str) -> Any:
    """Return a tree as plain values that differ if its meaning does; `path` are the keys above."""
    if isinstance(tree, Scalar):
        return [type(tree.value).__name__, repr(tree.value), tree.quoted]
    if isinstance(tree, Mapping):
        entries = [e for e in tree.entries if (*path, e.key) != _ITSELF]
        head = None if tree.head is None else _plain(tree.head)
        return {
            "head": head,
            "entries": [[e.key, _plain(e.value, *path, e.key)] for e in entries],
        }
    return [_plain(item, *path, "") for item in tree.items]

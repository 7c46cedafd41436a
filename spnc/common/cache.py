"""Where spnc keeps what it need not make or download again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Return `$SPNC_CACHE`, or spnc's part of the user's cache folder."""
    own = os.environ.get("SPNC_CACHE")
    if own:
        return Path(own)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("spnc"))

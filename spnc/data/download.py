"""Downloading over HTTP."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

from spnc.common.observer import Progress

_CHUNK_BYTES = 1 << 16
_TIMEOUT_SECONDS = 30.0


class DownloadError(Exception):
    """A download failed; `reached` says whether the server replied at all."""

    def __init__(self, reason: str, *, reached: bool) -> None:
        super().__init__(reason)
        self.reached = reached


def download(url: str, label: str, progress: Progress | None = None) -> bytes:
    """Return the content at `url`, reporting progress under `label`. Raises `DownloadError`."""
    parts: list[bytes] = []
    done = 0
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
            length = response.headers.get("Content-Length") or ""
            total = int(length) if length.isdecimal() else None
            while part := response.read(_CHUNK_BYTES):
                parts.append(part)
                done += len(part)
                if progress is not None:
                    progress(label, done, total)
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"the server replied {error.code} {error.reason}"
        raise DownloadError(reason, reached=True) from None
    except urllib.error.URLError as error:
        raise DownloadError(str(error.reason), reached=False) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DownloadError(str(error) or type(error).__name__, reached=False) from error
    if total is not None and done < total:
        raise DownloadError(f"the connection ended after {done:,} of {total:,} bytes", reached=True)
    return b"".join(parts)

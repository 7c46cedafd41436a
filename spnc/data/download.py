"""Fetching a file over HTTP, and storing it so that a half-written file is never seen."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

from spnc.common.observer import Progress

_CHUNK = 1 << 16
_TIMEOUT_SECONDS = 30.0


class DownloadError(Exception):
    """Why a download failed; `reached` says whether the server answered at all."""

    def __init__(self, reason: str, *, reached: bool) -> None:
        super().__init__(reason)
        self.reached = reached


def download(url: str, label: str, progress: Progress | None = None) -> bytes:
    """The content at `url`. Raises `DownloadError`."""
    parts: list[bytes] = []
    done = 0
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:
            length = answer.headers.get("Content-Length") or ""
            total = int(length) if length.isdecimal() else None
            while part := answer.read(_CHUNK):
                parts.append(part)
                done += len(part)
                if progress is not None:
                    progress(label, done, total)
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"the server answered {error.code} {error.reason}"
        raise DownloadError(reason, reached=True) from None
    except urllib.error.URLError as error:
        raise DownloadError(str(error.reason), reached=False) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DownloadError(str(error) or type(error).__name__, reached=False) from error
    if total is not None and done < total:
        raise DownloadError(f"the connection ended after {done:,} of {total:,} bytes", reached=True)
    return b"".join(parts)

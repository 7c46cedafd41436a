"""Reading text files, with the reason if that fails."""

from __future__ import annotations

from pathlib import Path

from spnc.common.limits import is_device


class UnreadableFileError(Exception):
    """A text file cannot be read. `help` says what to do about it, if known."""

    def __init__(self, reason: str, help: str | None = None) -> None:
        super().__init__(reason)
        self.help = help


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark and with newlines only.

    Raises `FileNotFoundError`, and `UnreadableFileError` for every other reason.
    """
    if is_device(path):
        raise UnreadableFileError("it is a device", "name a file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8 text"
        raise UnreadableFileError(reason, "save it as UTF-8") from None
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise UnreadableFileError("it is a folder", "name a file in it") from None
    except OSError as error:
        raise UnreadableFileError(error.strerror or str(error)) from None
    except ValueError as error:  # a name with a NUL character
        raise UnreadableFileError(str(error)) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")

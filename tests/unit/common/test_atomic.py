"""Files that are complete or absent: permissions, devices, long names, nothing left behind."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from spnc.common.atomic import replacing, write_bytes, write_together
from spnc.diagnostics import InputError, writing

needs_posix = pytest.mark.skipif(os.name != "posix", reason="permissions and pipes of POSIX")


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@needs_posix
def test_a_file_has_the_permissions_of_the_one_it_replaces_or_the_usual_ones(
    tmp_path: Path,
) -> None:
    file, new = tmp_path / "file", tmp_path / "new"
    file.write_text("older")
    file.chmod(0o640)
    before = os.umask(0o077)
    try:
        write_bytes(file, b"newer")
        write_bytes(new, b"newer")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o600


@needs_posix
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"content")
    reader.join()
    assert found == [b"content"]
    assert pipe.is_fifo()


def test_a_full_device_is_reported_and_stays() -> None:
    device = Path("/dev/full")
    if not device.is_char_device():
        pytest.skip("there is no /dev/full")
    with pytest.raises(InputError, match="cannot write `/dev/full`: No space"), writing(device):
        write_bytes(device, b"content")
    assert device.is_char_device()


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 255)
    write_bytes(file, b"content")
    assert names(tmp_path) == [file.name]
    with pytest.raises(InputError, match="E120"), writing(tmp_path / ("x" * 256)):
        write_bytes(tmp_path / ("x" * 256), b"content")


def test_a_failure_leaves_neither_temporary_files_nor_new_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("older")
    new = tmp_path / "a" / "b" / "file"

    def fail() -> None:
        with replacing(new) as file:
            file.write(b"part")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space") as error:
        fail()
    assert error.value.filename == str(new)
    with pytest.raises(OSError, match=r"exists|directory|folder"):
        write_bytes(tmp_path / "file" / "below", b"content")
    assert names(tmp_path) == ["file"]


def test_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    first.write_text("older")
    second.mkdir()  # so the second cannot be replaced
    (second / "inside").write_text("")
    with pytest.raises(OSError, match="irectory"):
        write_together({second: b"newer", first: b"newer", third: b"newer"})
    assert first.read_text() == "older"
    assert names(tmp_path) == ["a", "b"]
    write_together({first: b"newer", third: b"newer"})
    assert names(tmp_path) == ["a", "b", "c"]


@needs_posix
def test_a_write_protected_file_is_not_replaced(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is write-protected for the administrator")
    file = tmp_path / "file"
    file.write_text("older")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        write_bytes(file, b"newer")
    assert file.read_text() == "older"

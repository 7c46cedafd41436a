"""Modules of CUDA source become libraries of the host, with g++."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.stand_in.errors import CompileException

HERE = Path(__file__).resolve().parent
OWN = ("fibers.h", "cuda_words.h", "fibers.cpp")
FLAGS = (
    *("-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-U_FORTIFY_SOURCE", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unknown-pragmas"),
)
SOURCES = (".cu", ".cuh", ".h", ".hpp", ".cpp")
KERNEL = re.compile(r'extern\s*"C"\s*__global__\s+void\s+(\w+)\s*\(')


def why_not() -> str | None:
    """Why kernels cannot be run on this machine; None if they can."""
    if sys.platform != "linux":
        return "the stand-in for CuPy runs on Linux only"
    if shutil.which("g++") is None:
        return "the stand-in for CuPy needs g++, which is not installed"
    return None


class Library:
    """The kernels of a module, as functions of the host."""

    def __init__(self, path: Path) -> None:
        # PyDLL: one launch at a time, since threads and counters are global to the library.
        self.own = ctypes.PyDLL(str(path))
        self.own.stand_in_reason.restype = ctypes.c_char_p
        self.tallies = (ctypes.c_ulonglong * 3).in_dll(self.own, "stand_in_tallies")

    def signature(self, name: str) -> str | None:
        """Kinds of the arguments of a kernel, then their letters; None if there is no such."""
        function = getattr(self.own, f"signature_{name}", None)
        if function is None:
            return None
        function.restype = ctypes.c_char_p
        return str(function().decode())

    def reason(self) -> str:
        """What is known about the launch that failed last."""
        return str(self.own.stand_in_reason().decode())


def flags_of(options: tuple[str, ...]) -> list[str]:
    """The options of NVRTC that mean something to g++, in its words."""
    flags = []
    for option in options:
        option = option.replace("--include-path=", "-I").replace("--define-macro=", "-D")
        if option.startswith("-I"):
            flags.append(f"-I{Path(option[2:]).resolve()}")
        elif option.startswith("-D"):
            flags.append(option)
    return flags


def digest(code: str, flags: list[str]) -> str:
    """Stands for everything that the library is made of."""
    found = hashlib.sha256()
    folders = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
    files = [HERE / name for name in OWN]
    files += [file for folder in folders for file in sorted(folder.rglob("*"))]
    parts = [part.encode() for part in (*FLAGS, *flags, code)]
    for file in files:
        if file.suffix in SOURCES:
            parts += [str(file).encode(), file.read_bytes()]
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()


def run(command: list[str], code: str, options: tuple[str, ...]) -> str:
    """What g++ says, given the code; an error of CuPy's if it fails."""
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompileException(done.stderr, code, "kernels.cu", options)
    return done.stdout


def build(code: str, options: tuple[str, ...], flags: list[str], target: Path) -> None:
    """Write the library of a module; others may be writing the same one."""
    words = ["-P", "-D__launch_bounds__(...)="]
    plain = run(["g++", "-E", "-x", "c++", *words, *flags, "-"], code, options)
    kernels = dict.fromkeys(KERNEL.findall(plain))
    launchers = "\n".join(f"KERNEL({name})" for name in kernels)
    source = "\n".join(
        ['#include "cuda_words.h"', "namespace {", '#line 1 "kernels.cu"', code, "}", launchers]
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / "kernels.so"
        main = Path(folder) / "kernels.cpp"
        main.write_text(source)
        own = [f"-I{HERE}", str(main), str(HERE / "fibers.cpp"), "-o", str(made)]
        run(["g++", *FLAGS, *flags, *own], code, options)
        made.replace(target)


@functools.cache
def load(path: Path) -> Library:
    """A library is loaded once, whoever asks for it."""
    return Library(path)


def library_of(code: str, options: tuple[str, ...]) -> Library:
    """The library of a module, from the cache if it has been built before."""
    reason = why_not()
    if reason is not None:
        raise RuntimeError(reason)
    flags = flags_of(options)
    cache = Path(tempfile.gettempdir()) / f"spnc-stand-in-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    path = cache / f"{digest(code, flags)}.so"
    if not path.exists():
        build(code, options, flags, path)
    return load(path)

"""The CUDA sources compile for every device promised, and the Python side uses what CuPy has."""

from __future__ import annotations

import ast
import re
import sysconfig
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import spnc.backends.cupy
from spnc.backends.cupy.device import BLOCK, FILES, FOLDER, compiler_options, kernels_in, source_of
from spnc.backends.cupy.inverse import MOST_LISTS
from spnc.backends.cupy.sweep import LONE_BLOCK, SLICE
from spnc.backends.cupy.tables import LANES, LARGEST_CHUNK

SOURCE = Path(spnc.backends.cupy.__file__).parent
ARCHITECTURES = (70, 75, 80, 86, 89, 90, 100, 120)
# What CuPy adds to our options.
CUPYS_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")


@pytest.fixture(scope="module")
def nvrtc():
    """NVIDIA's compiler, through CuPy's own binding."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from cupy_backends.cuda.libs import nvrtc

    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        pytest.skip(str(error).strip())
    return nvrtc


@pytest.mark.parametrize("real", ["float64", "float32"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_compiles(nvrtc, architecture: int, real: str) -> None:
    if architecture < 75 and nvrtc.getVersion() >= (13, 0):
        pytest.skip("CUDA 13 has given up compute capability 7.0")
    options = [f"--gpu-architecture=sm_{architecture}", *compiler_options(np.dtype(real))]
    options += CUPYS_OPTIONS
    for name in FILES:
        code = source_of(name)
        program = nvrtc.createProgram(code, name, [], [])
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            pytest.fail(nvrtc.getProgramLog(program))
        log = nvrtc.getProgramLog(program).splitlines()
        assert not [line for line in log if line and "are deprecated" not in line]
        compiled = nvrtc.getCUBIN(program)
        for kernel in kernels_in(code):
            assert kernel.encode() in compiled


@pytest.mark.parametrize("name", FILES)
def test_what_is_compiled_is_one_text(name: str) -> None:
    """CuPy knows compiled code by its text, and writes that in the locale's encoding."""
    code = source_of(name)
    assert "#include" not in code
    assert "sum_value(" in code
    assert code.isascii()


def test_the_headers_that_cupy_wants_come_with_the_extra() -> None:
    """Where there is no CUDA toolkit, CuPy finds them in site-packages."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from cuda.pathfinder import find_nvidia_header_directory

    found = find_nvidia_header_directory("cudart")
    assert found is not None
    assert Path(found).is_relative_to(sysconfig.get_path("purelib"))


def test_every_source_file_is_used() -> None:
    assert {p.name for p in FOLDER.glob("*.cu")} == set(FILES)


def test_the_sources_need_no_atomics() -> None:
    """The same run gives the same bits: nothing is added up in an order that is left to chance."""
    assert "atomic" not in "".join(p.read_text(encoding="utf-8") for p in FOLDER.iterdir()).lower()


def test_numbers_that_stand_in_both_languages_agree() -> None:
    text = (FOLDER / "circuit.cuh").read_text(encoding="utf-8")
    defined = dict(re.findall(r"^#define (\w+) (\w+)", text, re.MULTILINE))
    assert int(defined["LANES"]) == LANES
    assert int(defined["SLICE"]) == SLICE
    assert int(defined["LONE_BLOCK"]) == LONE_BLOCK
    assert int(defined["BLOCK"]) == BLOCK
    assert BLOCK % SLICE == BLOCK % LANES == 0
    assert LARGEST_CHUNK % LANES == 0
    assert LARGEST_CHUNK <= 1 << 16
    assert LANES % MOST_LISTS == 0


def names_of_cupy(code: str) -> set[str]:
    """Every dotted name that begins with `cupy.`"""
    found = set()
    for node in ast.walk(ast.parse(code)):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if parts and isinstance(node, ast.Name) and node.id == "cupy":
            found.add(".".join(reversed(parts)))
    return found


def test_names_of_cupy_are_found() -> None:
    assert names_of_cupy("cupy = self.cupy\nx = cupy.cuda.Device(0).use()\ny = cupy.empty(3)") == {
        "cuda",
        "cuda.Device",
        "empty",
    }


@pytest.mark.parametrize("file", sorted(SOURCE.glob("*.py")), ids=lambda p: p.name)
def test_every_name_of_cupy_is_there(file: Path) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    for name in names_of_cupy(file.read_text(encoding="utf-8")):
        reduce(getattr, name.split("."), cupy)


def test_cupy_is_spoken_in_two_files_only() -> None:
    speaking = {p.name for p in SOURCE.glob("*.py") if names_of_cupy(p.read_text(encoding="utf-8"))}
    assert speaking == {"device.py", "trouble.py"}

"""What users read, word for word: bad inputs with their diagnostics, good ones with their shape.

Beside each input stands `INPUT.expected`. After a change that is meant, run

    pytest tests/golden --update-golden

and read the difference as a user would.

    bad/specs, bad/circuits, bad/models   spnc check FILE
    bad/data                              spnc data show FILE
    bad/cases/NAME.cmd                    the command line in the file; MACHINE=… is a machine
                                          as `tests.stand_in.devices` can pretend it
    good/specs, good/circuits             spnc check FILE, then spnc inspect FILE
"""

from __future__ import annotations

import difflib
import hashlib
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.data import debd
from spnc.data.columns import Column
from spnc.data.debd_hashes import DEBD_SHA256
from spnc.data.table import Table
from spnc.diagnostics import Diagnostic, InputError, codes, explanation, render
from spnc.graph.nodes import Builder
from spnc.leaves.categorical import Categorical
from spnc.leaves.uniform import Uniform
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from spnc.runs.lock import versions
from tests.stand_in import spflow
from tests.stand_in.devices import pretend

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "spnc"
IGNORED = {".expected", ".md"}


def inputs(folder: str) -> list[Path]:
    """The inputs in a folder, relative to this one."""
    files = sorted(p for p in (HERE / folder).iterdir() if p.is_file())
    return [p.relative_to(HERE) for p in files if p.suffix not in IGNORED]


BAD = [p for kind in ("specs", "circuits", "models", "data") for p in inputs(f"bad/{kind}")]
CASES = [p for p in inputs("bad/cases") if p.suffix == ".cmd"]
GOOD = [p for kind in ("specs", "circuits") for p in inputs(f"good/{kind}")]


@pytest.fixture(autouse=True)
def _same_everywhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> None:
    """No network, no colours, and nothing of this machine's datasets."""
    monkeypatch.setenv("SPNC_DEBD_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SPNC_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("SPNC_DATA", raising=False)


def run(line: list[str], capsys: pytest.CaptureFixture[str], *, stdout: bool) -> str:
    """What a command prints, and its exit code."""
    try:
        code = main(line)
    except SystemExit as end:  # argparse's way of saying how the command is used
        code = int(str(end.code))
    printed = capsys.readouterr()
    text = printed.out if stdout else printed.err
    if stdout and printed.err:
        text += printed.err
    return normal(f"{text}exit {code}\n")


def normal(text: str) -> str:
    """The text without what differs between machines."""
    text = text.replace(versions(), "VERSIONS")
    text = re.sub(r"took [\d,.]+ (?:ms|s|[KMG]B)\b", "took SO MUCH", text)
    text = re.sub(r"Error while deserializing(?: header)?: .*", "SAFETENSORS SAYS WHY", text)
    return re.sub(r"\[Errno \d+\] |<urlopen error (.*)>", r"\1", text)


def compare(found: str, expected: Path, update: bool) -> None:
    if update:
        expected.write_text(found, encoding="utf-8")
        return
    assert expected.is_file(), f"there is no {expected.name}; run pytest --update-golden, and read"
    wanted = expected.read_text(encoding="utf-8")
    if found != wanted:
        lines = difflib.unified_diff(
            wanted.splitlines(), found.splitlines(), "expected", "found", lineterm=""
        )
        pytest.fail(f"{expected.name} differs:\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize("file", BAD, ids=str)
def test_bad_input_is_reported_in_these_words(file, capsys, monkeypatch, update_golden) -> None:
    monkeypatch.chdir(HERE / "bad")
    name = file.relative_to("bad").as_posix()
    line = ["data", "show", name] if file.parent.name == "data" else ["check", name]
    found = run(line, capsys, stdout=False)
    assert "Traceback" not in found
    assert found.endswith("exit 0\n" if file.name.startswith("W") else "exit 1\n")
    assert f"[{file.name[:4]}]" in found
    compare(found, HERE / f"{file}.expected", update_golden)


@pytest.mark.parametrize("file", CASES, ids=str)
def test_a_bad_command_is_reported_in_these_words(
    file, capsys, monkeypatch, tmp_path, update_golden
) -> None:
    work = tmp_path / "bad"
    work.mkdir()
    expected = shutil.ignore_patterns("*.expected", "*.cmd")
    for folder in (HERE / "bad").iterdir():
        if folder.name in ("cases", "shared"):  # commands may write there
            shutil.copytree(folder, work / folder.name, ignore=expected)
        else:
            (work / folder.name).symlink_to(folder)
    monkeypatch.chdir(work)
    for line in (HERE / file).read_text(encoding="utf-8").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, value = words.pop(0).split("=", 1)
            if name == "MACHINE":
                pretend(monkeypatch, value)
            else:
                monkeypatch.setenv(name, value)
        if words:
            assert words.pop(0) == "spnc"
            found = run(words, capsys, stdout=False)
    assert "Traceback" not in found
    compare(found, HERE / f"{file}.expected", update_golden)


@pytest.mark.parametrize("file", GOOD, ids=str)
def test_good_input_has_this_structure(file, capsys, monkeypatch, update_golden) -> None:
    monkeypatch.chdir(HERE / "good")
    name = file.relative_to("good").as_posix()
    checked = run(["check", name], capsys, stdout=True)
    assert checked.endswith("exit 0\n"), checked
    found = checked + run(["inspect", name], capsys, stdout=True)
    compare(found, HERE / f"{file}.expected", update_golden)


def test_every_expected_text_has_its_input() -> None:
    orphans = [p for p in HERE.rglob("*.expected") if not p.with_suffix("").is_file()]
    assert not orphans


# ---- codes ---------------------------------------------------------------------------------

# Reached from Python, or only with a server: each has a test below. E511 takes two trainings at a
# time: tests/unit/runs/test_run_folders.py. W405, W406 and W701 take a run that was killed, or
# places that fail while a command runs: tests/unit/runs/test_kept_work.py, test_removed_folders.py
# there, tests/unit/backends/test_kernel_cache.py. E323 takes a damaged file of a cache, and E512 to
# E516 take clusters: tests/unit/data/test_large_files.py, tests/unit/cluster/.
NOT_FROM_A_FILE = {
    *(
        "E323",
        "E505",
        "E511",
        "E512",
        "E513",
        "E514",
        "E515",
        "E516",
        "E709",
        "E851",
        "E852",
        "E853",
        "E863",
        "E864",
        "E865",
    ),
    *("W131", "W304", "W403", "W404", "W405", "W406", "W701"),
}


def codes_in_source() -> set[str]:
    return {
        code
        for file in SOURCE.rglob("*.py")
        for code in re.findall(r'"([EW]\d{3})"', file.read_text(encoding="utf-8"))
    }


def test_every_code_in_the_source_is_explained_and_no_other() -> None:
    assert set(codes()) == codes_in_source()


def test_every_code_has_a_golden_text() -> None:
    shown = {
        code
        for file in (HERE / "bad").rglob("*.expected")
        for code in re.findall(r"\[([EW]\d{3})\]", file.read_text(encoding="utf-8"))
    }
    assert set(codes()) - shown == NOT_FROM_A_FILE


@pytest.mark.parametrize("code", codes())
def test_an_explanation_has_a_title_and_short_paragraphs(code: str) -> None:
    text = explanation(code)
    assert text is not None
    title, empty, *rest = text.split("\n")
    assert re.fullmatch(r"# [A-Z][^.]*", title)
    assert empty == ""
    assert 1 <= len("\n".join(rest).strip().split("\n\n")) <= 5
    assert text.endswith("\n")


# ---- what no file can say ------------------------------------------------------------------


def shown(diagnostics: list[Diagnostic]) -> Iterator[tuple[str, str]]:
    for d in diagnostics:
        yield d.code, render([d])


def rain_and_wind() -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph(variables=["rain", "wind"])
    graph.add_node("r", kind="leaf", variable="rain", distribution="bernoulli", p=0.3)
    graph.add_node("w", kind="leaf", variable="wind", distribution="bernoulli", p=0.6)
    graph.add_node("both", kind="product")
    graph.add_edges_from([("both", "r"), ("both", "w")])
    return graph


def test_a_multigraph_without_parallel_edges_is_a_circuit() -> None:
    assert spnc.check(rain_and_wind()) == []


def test_parallel_edges_are_named() -> None:
    graph = rain_and_wind()
    graph.add_edge("both", "w")
    ((code, text),) = shown(spnc.check(graph))
    assert code == "E210"
    assert "node `w` is twice a child of `both`" in text


def test_an_undirected_graph_is_refused() -> None:
    ((code, text),) = shown(spnc.check(nx.Graph(rain_and_wind())))
    assert code == "E223"
    assert "not a Graph" in text


def test_numbers_may_come_from_numpy() -> None:
    graph = nx.DiGraph(variables={"tea": "categorical(3)"})
    p = np.array([0.25, 0.25, 0.5], dtype=np.float32)
    graph.add_node(1, kind="leaf", variable="tea", distribution="categorical", p=p)
    graph.add_node(2, kind="leaf", variable="tea", distribution="categorical", p=p[::-1])
    graph.add_node(0, kind="sum")
    graph.add_edge(0, 1, weight=np.float32(0.5))
    graph.add_edge(0, 2, weight=np.float64(0.5))
    assert spnc.check(graph) == []


def test_a_truth_value_is_no_weight() -> None:
    graph = nx.DiGraph(variables=["rain"])
    graph.add_node("r", kind="leaf", variable="rain", distribution="bernoulli", p=0.3)
    graph.add_node("top", kind="sum")
    graph.add_edge("top", "r", weight=True)
    assert [code for code, _ in shown(spnc.check(graph))] == ["E219"]


def test_values_of_the_wrong_shape_are_e505() -> None:
    model = spnc.compile(HERE / "good/circuits/leaf.spn")
    with pytest.raises(InputError) as error:
        model.log_likelihood([[0, 1]])
    assert str(error.value).startswith("error[E505]: the values have the shape (1, 2)")


def spflow_error(call) -> str:
    with pytest.raises(InputError) as error:
        call()
    return str(error.value)


def test_objects_of_spflow_without_spflow_are_e863(monkeypatch) -> None:
    spflow.uninstall(monkeypatch)
    text = spflow_error(spnc.compile(HERE / "good/circuits/leaf.spn").to_spflow)
    assert text.startswith("error[E863]: SPFlow 0.0.48 is needed to make its objects")


def test_leaves_that_spflow_lacks_are_e864(monkeypatch) -> None:
    spflow.install(monkeypatch)
    builder = Builder([Column("price", "real", 0)])
    builder.leaf(0, Uniform(0.0, 1.0))
    text = spflow_error(Model("prices", *lower(builder.graph)).to_spflow)
    assert text.startswith("error[E864]: SPFlow 0.0.48 has no leaf like `uniform`\n  = over price")


def test_objects_that_are_not_spflows_are_e865() -> None:
    text = spflow_error(lambda: spnc.from_spflow(object()))
    assert text.startswith("error[E865]: this circuit of SPFlow cannot be read: `object` is not a")


def test_more_states_than_sixteen_bits_can_number_are_e709(monkeypatch) -> None:
    pretend(monkeypatch, "devices=1")
    builder = Builder([Column("tea", "categorical", 65_535)])
    builder.leaf(0, Categorical((1 / 65_535,) * 65_535))
    program, _ = lower(builder.graph)
    with pytest.raises(InputError) as error:
        BACKENDS["cupy"]().open(program).load(Table(np.zeros((1, 1))))
    assert str(error.value).startswith("error[E709]: column `tea` has 65,535 states")


def test_a_cache_that_cannot_be_written_is_w304(tmp_path, monkeypatch, capsys) -> None:
    content = b"0,1\n1,0\n"
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(DEBD_SHA256, "nltcs", dict.fromkeys(("train", "valid", "test"), digest))
    monkeypatch.setattr(debd, "download", lambda *_: content)
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPNC_CACHE", "file")
    text = run(["data", "show", "debd:nltcs"], capsys, stdout=False)
    assert text.startswith(
        "warning[W304]: `nltcs.train.data` was downloaded, but could not be stored: "
    )
    assert text.endswith("3 warnings\nexit 0\n")

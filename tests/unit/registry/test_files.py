"""`plugins` in a spec: files beside it, imported only if the user allows that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from spnc.diagnostics import InputError, Sink, Source
from spnc.spec.read import recipe_from
from spnc.spec.write_dsl import write_dsl
from spnc.spec.write_yaml import write_yaml
from tests.unit.registry.outside import LEARNER, restored

SPEC = "model: m\nplugins: [my_tree]\ndata: rows.csv\nforest: my-tree\n"
SPEC += "optimizer: {max_iterations: 1}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A spec with a plug-in file beside it, seen from elsewhere."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/rows.csv").write_text("a,b\n" + "0,1\n1,0\n1,1\n0,0\n" * 4)
    (tmp_path / "specs/spec.yaml").write_text(SPEC)
    text = "from pathlib import Path\nPath('was-run').touch()\n" + LEARNER.format(name="my-tree")
    (tmp_path / "specs/my_tree.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with restored(monkeypatch):
        monkeypatch.chdir(tmp_path)
        yield tmp_path / "specs"


@pytest.mark.parametrize("command", ["check", "compile", "inspect", "format", "train"])
def test_nothing_is_run_unless_allowed(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "specs/spec.yaml"]) == 1
    assert "error[E138]" in capsys.readouterr().err
    assert not Path("was-run").exists()
    assert main([command, "specs/spec.yaml", "--allow-plugins"]) == 0
    assert Path("was-run").exists()


def test_python_has_to_allow_it_too(folder: Path) -> None:
    assert [d.code for d in spnc.check("specs/spec.yaml")] == ["E138"]
    for function in (spnc.compile, spnc.train):
        with pytest.raises(InputError, match="E138"):
            function("specs/spec.yaml")
    assert not Path("was-run").exists()
    assert spnc.check("specs/spec.yaml", allow_plugins=True) == []
    assert spnc.compile("specs/spec.yaml", allow_plugins=True).name == "m"
    assert spnc.train("specs/spec.yaml", allow_plugins=True).model.name == "m"


def test_the_run_can_be_repeated_from_its_lock_file(folder: Path) -> None:
    assert main(["train", "specs/spec.yaml", "-o", "run", "--quiet", "--allow-plugins"]) == 0
    lock = Path("run/recipe.lock.yaml").read_text("utf-8")
    assert "plugins: [../specs/my_tree.py]" in lock
    assert "my_tree.py sha256:" in lock
    (record,) = spnc.load("run/model.spnc").provenance["plugins"]
    assert (record["kind"], record["name"], record["file"]) == ("learner", "my-tree", "my_tree.py")
    assert len(record["sha256"]) == 64
    again = ["train", "run/recipe.lock.yaml", "-o", "again", "--quiet", "--allow-plugins"]
    assert main(again) == 0
    assert Path("again/model.spnc").read_bytes() == Path("run/model.spnc").read_bytes()


def test_a_changed_file_is_imported_again_and_reported(folder: Path) -> None:
    assert main(["train", "specs/spec.yaml", "-o", "run", "--quiet", "--allow-plugins"]) == 0
    file = folder / "my_tree.py"
    file.write_text(file.read_text() + "\n\nMine.changed = True\n")
    (found,) = spnc.check("run/recipe.lock.yaml", allow_plugins=True)
    assert found.code == "W402"
    from spnc.registry import LEARNERS

    assert LEARNERS["my-tree"].changed


def test_both_notations_name_plug_ins(folder: Path) -> None:
    texts = {
        "specs/s.yaml": SPEC.replace("[my_tree]", "[my_tree, ./my_tree.py]"),
        "specs/s.spn": "model m\nplugins [my_tree, ./my_tree.py]\ndata rows.csv\n"
        "forest { my-tree }\noptimize em(max_iterations = 1)\n",
    }
    found = []
    for name, text in texts.items():
        sink = Sink()
        recipe = recipe_from(Source(name, text), sink, allow_plugins=True)
        sink.stop()
        assert recipe is not None
        assert recipe.plugins == ("my_tree", "./my_tree.py")
        found.append(recipe)
        for write, suffix in ((write_yaml, "yaml"), (write_dsl, "spn")):
            for full in (False, True):
                written = write(recipe, full=full)
                again = recipe_from(Source(f"specs/w.{suffix}", written), sink, allow_plugins=True)
                assert again == recipe
    assert found[0] == found[1]


def test_a_file_that_was_imported_needs_no_second_permission(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--plugin", "specs/my_tree.py", "check", "specs/spec.yaml"]) == 0
    assert spnc.check("specs/spec.yaml") == []
    file = folder / "my_tree.py"
    file.write_text(file.read_text() + "\n# changed\n")
    assert [d.code for d in spnc.check("specs/spec.yaml")] == ["E138"]


def test_the_command_that_resumes_a_run_allows_its_plug_ins(folder: Path) -> None:
    from spnc.runs.folder import RunFolder

    assert main(["train", "specs/spec.yaml", "-o", "run", "--quiet", "--allow-plugins"]) == 0
    command = RunFolder(Path("run"), Sink()).resume_command()
    assert command == "spnc train run/recipe.lock.yaml --out run --resume --allow-plugins"


def test_a_plug_in_file_can_be_given_for_a_model(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "coin.py").write_text(
        "from spnc.leaves.bernoulli import Bernoulli\n"
        "from spnc.registry import LEAVES\n"
        "@LEAVES.register('coin')\n"
        "class Coin(Bernoulli):\n"
        "    pass\n"
    )
    Path("specs/c.spn").write_text(
        "circuit c\nvariables { a: binary, b: binary }\nr = x * y\n"
        "x = a ~ coin(0.5)\ny = b ~ bernoulli(0.3)\nroot r\n"
    )
    Path("specs/coins.yaml").write_text(
        "model: m\nplugins: coin\ndata: rows.csv\nforest: [{learner: circuit, file: c.spn}]\n"
    )
    train = ["train", "specs/coins.yaml", "-o", "run", "--quiet", "--allow-plugins"]
    assert main(train) == 0
    from spnc.registry import LEAVES

    monkeypatch.setattr(LEAVES, "_outside", {})
    monkeypatch.setattr("spnc.registry.files._LOADED", {})
    capsys.readouterr()
    assert main(["eval", "run/model.spnc", "specs/rows.csv"]) == 1
    printed = capsys.readouterr().err
    assert "this model has `coin` leaves, which the file `coin.py` provides" in printed
    assert main(["--plugin", "specs/coin.py", "eval", "run/model.spnc", "specs/rows.csv"]) == 0


def test_the_home_of_an_unknown_user_is_a_file_that_is_not_allowed(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC.replace("my_tree", "~no-such-user/my_tree"))
    assert [d.code for d in spnc.check(path)] == ["E138"]

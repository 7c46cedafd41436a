"""Plug-ins of installed packages: found by entry points, imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from spnc.diagnostics import InputError, Sink, Source
from spnc.registry import BACKENDS, LEARNERS, LEAVES, OPTIMIZERS
from spnc.registry.registries import ALL
from spnc.registry.usage import used_plugins
from spnc.spec.read import recipe_from
from spnc.spec.schema import schema
from tests.unit.registry.outside import LEARNER, install, restored

SPEC = "model: m\ndata: rows.csv\nforest: {learner}\noptimizer: {{max_iterations: 1}}\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path into which packages can be put before spnc looks."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b\n" + "0,1\n1,0\n1,1\n0,0\n" * 4)
    with restored(monkeypatch, folder):
        yield folder


def spec(learner: str) -> Path:
    path = Path("spec.yaml")
    path.write_text(SPEC.format(learner=learner))
    return path


def test_every_registry_has_an_entry_point_group() -> None:
    assert {registry.group for registry in ALL} == {
        "spnc.learners",
        "spnc.leaves",
        "spnc.residuals",
        "spnc.optimizers",
        "spnc.objectives",
        "spnc.stops",
        "spnc.backends",
        "spnc.families",
    }


def test_an_installed_learner_works_and_is_recorded(site: Path) -> None:
    install(
        site,
        entry_points="[spnc.learners]\nmy-tree = their_module\n",
        their_module=LEARNER.format(name="my-tree"),
    )
    assert "my-tree" in LEARNERS
    assert "my-tree" in list(LEARNERS)
    assert "my-tree" not in LEARNERS.builtin
    path = spec("[{learner: my_tree, extra: 3}]")
    assert spnc.check(path) == []
    assert main(["train", str(path), "-o", "run", "--quiet"]) == 0
    lock = Path("run/recipe.lock.yaml").read_text("utf-8")
    assert "extra: 3" in lock
    assert "plugins: [their-package 1.2]" in lock
    model = spnc.load("run/model.spnc")
    assert model.provenance["plugins"] == [
        {"kind": "learner", "name": "my-tree", "package": "their-package", "version": "1.2"}
    ]
    assert spnc.check("run/recipe.lock.yaml") == []


def test_recipes_of_built_in_plug_ins_record_nothing(site: Path) -> None:
    install(
        site,
        entry_points="[spnc.learners]\nmy-tree = their_module\n",
        their_module=LEARNER.format(name="my-tree"),
    )
    LEARNERS["my-tree"]
    assert main(["train", str(spec("chow-liu")), "-o", "run", "--quiet"]) == 0
    assert "plugins" not in Path("run/recipe.lock.yaml").read_text("utf-8")
    assert "plugins" not in spnc.load("run/model.spnc").provenance


def test_a_broken_package_harms_only_those_who_use_it(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        site,
        entry_points="[spnc.learners]\nbroken = their_broken_module\n"
        "[spnc.backends]\nbroken = nowhere_to_be_found\n"
        "[spnc.leaves]\nbroken = nowhere_to_be_found\n",
        their_broken_module="import nothing_of_this_name\n",
    )
    assert spnc.check(spec("chow-liu")) == []
    assert BACKENDS["auto"]().resolved().plugin_name in BACKENDS.builtin
    schema()
    (found,) = spnc.check(spec("broken"))
    assert found.code == "E139"
    assert found.message == "the learner `broken` of their-package 1.2 cannot be loaded"
    assert str(found.span) == "spec.yaml:3:9"
    notes = " ".join(found.notes)
    assert "ModuleNotFoundError: No module named 'nothing_of_this_name'" in notes
    assert "their_broken_module" in notes
    assert main(["check", "spec.yaml"]) == 1
    assert "Traceback" not in capsys.readouterr().err
    Path("c.spn").write_text("circuit c\nvariables { a: binary }\nx = a ~ broken(0.5)\n")
    assert [d.code for d in spnc.check("c.spn")] == ["E139"]
    assert main(["eval", "m.spnc", "rows.csv", "--backend", "broken"]) == 1


def test_a_module_has_to_register_the_name_of_its_entry_point(site: Path) -> None:
    install(
        site,
        entry_points="[spnc.learners]\nmy-tree = their_module\n",
        their_module=LEARNER.format(name="other-name"),
    )
    with pytest.raises(InputError, match="registers no learner `my-tree`"):
        LEARNERS.find("my-tree")


def test_a_clash_with_a_built_in_names_both(site: Path) -> None:
    install(
        site,
        entry_points="[spnc.learners]\nchow-liu = their_module\n[spnc.optimizers]\nem = their_em\n",
        their_module=LEARNER.format(name="chow-liu"),
    )
    (found,) = spnc.check(spec("chow-liu"))
    assert found.code == "E140"
    assert found.message == (
        "two learners are named `chow-liu`: one of spnc itself and one of their-package 1.2"
    )
    assert spnc.check(spec("extra-spn")) == []  # `em` is only its default, and is ours
    assert OPTIMIZERS["em"].__module__.startswith("spnc.")


def test_a_clash_of_two_packages_names_both(site: Path) -> None:
    install(
        site,
        entry_points="[spnc.learners]\nmy-tree = their_module\n",
        their_module=LEARNER.format(name="my-tree"),
    )
    install(site, "another", "3", entry_points="[spnc.learners]\nmy_tree = another_module\n")
    (found,) = spnc.check(spec("my-tree"))
    assert found.code == "E140"
    assert "their-package 1.2" in found.message
    assert "another 3" in found.message


def test_a_plug_in_can_be_imported_and_defined_again() -> None:
    """As a notebook's cell, when it is run a second time."""
    from spnc.learners.chow_liu import ChowLiu

    before = dict(LEARNERS._outside)
    try:
        for _ in range(2):

            @LEARNERS.register("my-cell")
            class Mine(ChowLiu):
                pass

        assert LEARNERS["my-cell"] is Mine

        class Other(ChowLiu):
            pass

        with pytest.raises(InputError, match="two learners are named `my-cell`"):
            LEARNERS.register("my-cell")(Other)
        with pytest.raises(InputError, match="one of spnc itself"):
            LEARNERS.register("chow-liu")(Other)
        with pytest.raises(ValueError, match="have hyphens"):
            LEARNERS.register("my_cell")(Other)
    finally:
        LEARNERS._outside = before


def test_an_outside_leaf_does_not_change_what_built_in_learners_choose(site: Path) -> None:
    leaf = "\n".join(
        [
            "from spnc.leaves.bernoulli import Bernoulli",
            "from spnc.registry import LEAVES",
            "@LEAVES.register('aaa')",
            "class First(Bernoulli):",
            "    '''Comes before all others, and is meant for the same columns.'''",
        ]
    )
    before = spnc.train(spec("chow-liu")).model
    install(site, entry_points="[spnc.leaves]\naaa = their_leaf\n", their_leaf=leaf)
    from spnc.model import to_bytes
    from spnc.registry.suppliers import forget_offers

    forget_offers()
    assert LEAVES["aaa"].kinds[0] == "binary"
    assert to_bytes(spnc.train(spec("chow-liu")).model) == to_bytes(before)


def test_a_model_names_the_package_of_an_absent_leaf(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = "\n".join(
        [
            "from spnc.leaves.bernoulli import Bernoulli",
            "from spnc.registry import LEAVES",
            "@LEAVES.register('coin')",
            "class Coin(Bernoulli):",
            "    pass",
        ]
    )
    install(site, entry_points="[spnc.leaves]\ncoin = their_coin\n", their_coin=leaf)
    Path("c.spn").write_text("circuit c\nvariables { a: binary b: binary }\nx = a ~ coin(0.5)\n")
    text = "circuit c\nvariables { a: binary, b: binary }\nr = x * y\n"
    Path("c.spn").write_text(f"{text}x = a ~ coin(0.5)\ny = b ~ bernoulli(0.3)\nroot r\n")
    path = spec("[{learner: circuit, file: c.spn}]")
    assert main(["train", str(path), "-o", "run", "--quiet"]) == 0
    assert "plugins: [their-package 1.2]" in Path("run/recipe.lock.yaml").read_text("utf-8")
    monkeypatch.setattr(LEAVES, "_outside", {})
    for file in site.rglob("*.dist-info/*"):
        file.unlink()
    from spnc.registry.suppliers import forget_offers

    forget_offers()
    with pytest.raises(InputError) as error:
        spnc.load("run/model.spnc")
    (found,) = error.value.diagnostics
    assert found.code == "E141"
    assert found.message == "this model has `coin` leaves, which their-package 1.2 provides"
    assert found.help == "install it: pip install their-package==1.2"
    (absent,) = spnc.check("run/recipe.lock.yaml")
    assert absent.code == "E141"
    assert absent.help == "install it: pip install their-package==1.2"


def test_another_version_than_the_locked_one_is_worth_a_word(site: Path) -> None:
    learner = LEARNER.format(name="my-tree")
    install(site, entry_points="[spnc.learners]\nmy-tree = their_module\n", their_module=learner)
    text = SPEC.format(learner="my-tree") + "lock: {spec: none, plugins: [their-package 1.1]}\n"
    Path("spec.yaml").write_text(text)
    (found,) = spnc.check("spec.yaml")
    assert (found.code, found.severity) == ("W402", "warning")
    assert "locked: their-package 1.1; in use now: their-package 1.2" in found.notes


RAISES = """
from dataclasses import dataclass

from spnc.registry import LEARNERS, Options


@LEARNERS.register("raising")
@dataclass(frozen=True, kw_only=True)
class Raising(Options):
    '''Fails when it is used.'''

    def learn(self, task):
        return _helper(task)


def _helper(task):
    import numpy as np

    return np.zeros(3).reshape(7)
"""


def test_an_exception_in_a_plug_in_names_the_plug_in(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, entry_points="[spnc.learners]\nraising = their_module\n", their_module=RAISES)
    assert main(["train", str(spec("raising")), "-o", "run", "--quiet"]) == 70
    printed = capsys.readouterr().err
    assert "ValueError: cannot reshape" in printed
    assert printed.endswith(
        "This is a bug in the learner `raising` of their-package 1.2, a plug-in, not in spnc. "
        "Please report it to its authors with the text above.\n"
    )


def test_an_exception_in_spnc_itself_is_ours(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, entry_points="[spnc.learners]\nraising = their_module\n", their_module=RAISES)
    LEARNERS["raising"]

    def broken(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("spnc.learners.chow_liu.ChowLiu.learn", broken)
    assert main(["train", str(spec("chow-liu")), "-o", "run", "--quiet"]) == 70
    assert "This is a bug in spnc" in capsys.readouterr().err


def test_names_in_a_choice_may_be_those_of_plug_ins(site: Path) -> None:
    """In the language, `name = search [...](...)` needs to know which options hold plug-ins."""
    optimizer = "\n".join(
        [
            "from dataclasses import dataclass",
            "from spnc.registry import OPTIMIZERS, STOPS, choice",
            "from spnc.training.optimizers.em import Em",
            "@OPTIMIZERS.register('my-em')",
            "@dataclass(frozen=True, kw_only=True)",
            "class MyEm(Em):",
            "    '''EM by another name.'''",
            "    ending: object = choice(STOPS, 'variance', 'when it ends')",
        ]
    )
    install(site, entry_points="[spnc.optimizers]\nmy-em = their_module\n", their_module=optimizer)
    text = "model m\ndata rows.csv\nforest { chow-liu }\n"
    text += "optimize my-em(ending = search [variance](window = 7))\n"
    sink = Sink()
    recipe = recipe_from(Source("s.spn", text), sink)
    sink.stop()
    assert recipe is not None
    assert recipe.optimizer.ending.window == 7  # type: ignore[attr-defined]
    assert [used.name for used in used_plugins([recipe])] == ["my-em"]


def test_a_family_of_a_package_is_tried(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(
        site,
        entry_points="[spnc.families]\nmine = their_family\nlost = nowhere_to_be_found\n",
        their_family="from spnc.registry import FAMILIES\n"
        "@FAMILIES.register('mine')\n"
        "class Mine:\n"
        "    def propose(self, board):\n"
        "        open('was-asked', 'w').close()\n"
        "        return []\n",
    )
    command = ["train", "--auto", "rows.csv", "--budget", "2s", "-o", "run", "--quiet"]
    assert main(command) == 0
    assert Path("was-asked").exists()
    printed = capsys.readouterr().err
    assert printed.startswith(
        "warning[W131]: the family `lost` of their-package 1.2 cannot be loaded, and is left out\n"
    )

from collections.abc import Callable
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import base
from levelfield.images.recipe import Recipe, recipe
from levelfield.paths import images_root

Change = Callable[[Path], None]


def _append(path: str, text: str = "\n# changed\n") -> Change:
    def change(checkout: Path) -> None:
        with (checkout / path).open("a") as file:
            file.write(text)

    return change


def _replace(path: str, old: str, new: str) -> Change:
    def change(checkout: Path) -> None:
        text = (checkout / path).read_text()
        assert old in text
        (checkout / path).write_text(text.replace(old, new, 1))

    return change


def _tags(made: Recipe) -> tuple[str, str]:
    return made.environment_tag, made.tag


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_append("images/canary/cpu.lock"), id="lock"),
        pytest.param(_append("images/environment.sh"), id="recipe"),
        pytest.param(
            _replace("images/base.lock", 'name = "bash", version = "', 'name = "bash", version = "9'), id="base"
        ),
        pytest.param(_append("images/base.sh"), id="finish of the base"),
    ],
)
def test_what_an_environment_is_made_of_changes_its_tag(checkout: Path, change: Change) -> None:
    before = _tags(recipe("canary"))
    change(checkout)
    after = _tags(recipe("canary"))
    assert after[0] != before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_append("images/worker.toml"), id="recipe"),
        pytest.param(_append("suite/levelfield/worker/messages.py"), id="worker"),
        pytest.param(_append("suite/levelfield/zoo/__init__.py"), id="zoo"),
        pytest.param(_append("suite/levelfield/backends/new.py"), id="new backend"),
    ],
)
def test_what_runs_inside_changes_only_the_last_layer(checkout: Path, change: Change) -> None:
    before = _tags(recipe("canary"))
    change(checkout)
    after = _tags(recipe("canary"))
    assert after[0] == before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_append("suite/levelfield/report/style.css", "a { color: red }"), id="style sheet"),
        pytest.param(_append("suite/levelfield/images/build.py"), id="host code"),
        pytest.param(_append("suite/levelfield/worker/messages.pyc", "x"), id="bytecode"),
        pytest.param(_append("images/torch/cpu.lock"), id="another image's lock"),
        pytest.param(
            _replace("images/base.lock", 'name = "g++", version = "', 'name = "g++", version = "9'), id="other base"
        ),
        pytest.param(_append("images/canary/requirements.in"), id="requirements not yet locked"),
        pytest.param(_append("images/base/slim.packages", "g++\n"), id="packages not yet locked"),
    ],
)
def test_nothing_else_changes_a_tag(checkout: Path, change: Change) -> None:
    (checkout / "suite" / "levelfield" / "report").mkdir(exist_ok=True)
    before = _tags(recipe("canary"))
    change(checkout)
    assert _tags(recipe("canary")) == before


def test_the_python_of_a_lock_decides_which_base_an_image_stands_on() -> None:
    assert base.name_for("jax", "3.11") == "slim"
    assert base.name_for("jax", "3.13") == "slim-trixie"
    assert base.describe("slim-trixie").identity != base.describe("slim").identity
    assert "python:3.13-slim-trixie@" in base.describe("slim-trixie", "registry").reference
    assert recipe("jax").base.name == "slim-trixie"
    with pytest.raises(LevelfieldError, match=r"stands on the toolchain base, and there is none with Python 3\.13"):
        base.name_for("torch", "3.13")
    with pytest.raises(LevelfieldError, match=r"There is no base called '\.\./etc'"):
        base.describe("../etc")


def test_which_base_is_part_of_the_identity() -> None:
    made, pulled = recipe("torch"), recipe("torch", base_source="registry")
    assert made.environment_tag != pulled.environment_tag
    assert pulled.base.reference in (images_root() / "base" / "registry.toml").read_text()
    assert pulled.labels["levelfield.base"].startswith("registry toolchain sha256:")
    assert made.labels["levelfield.base"].startswith("debian toolchain ")


def test_labels_name_every_input() -> None:
    made = recipe("canary")
    assert made.labels["levelfield.lock"] == made.lock.sha256
    assert made.labels["levelfield.worker"] == made.worker_sha256
    assert made.labels["levelfield.identity"].startswith(made.tag.rpartition(":")[2])

"""All combinations of changes to an arm."""

from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.images import catalogue, locks, version_locks
from suite.plan import Selection, several
from suite.plan.crossing import cross


def test_two_changes_have_four_combinations() -> None:
    axes, arms = cross("onnxruntime@1.29.0", ["onnxruntime@1.30.0", "onnxruntime@1.29.0+spinning=off"])
    assert [axis.name for axis in axes] == ["@1.30.0", "spinning=off"]
    assert [arm.id for arm in arms] == [
        "onnxruntime@1.29.0",
        "onnxruntime@1.29.0+spinning=off",
        "onnxruntime@1.30.0",
        "onnxruntime@1.30.0+spinning=off",
    ]


def test_three_changes_have_eight_and_each_may_be_of_the_version_that_is_current() -> None:
    axes, arms = cross("onnxruntime@1.29.0", ["onnxruntime", "onnxruntime@1.29.0+spinning=off+graph=off"])
    assert [axis.name for axis in axes] == ["@current", "graph=off+spinning=off"]
    assert len({arm.id for arm in arms}) == 4
    assert arms[-1].id == "onnxruntime+graph=off+spinning=off"


@pytest.mark.parametrize(
    ("first", "others", "says"),
    [
        ("onnxruntime", ["openvino", "onnxruntime+spinning=off"], "different backends"),
        ("onnxruntime", ["onnxruntime", "onnxruntime+spinning=off"], "changes nothing"),
        ("onnxruntime", ["onnxruntime+spinning=off", "onnxruntime+spinning=off"], "same thing: spinning"),
        ("onnxruntime@1.29.0", ["onnxruntime@1.30.0", "onnxruntime"], "same thing: its version"),
        ("onnxruntime+spinning=off", ["onnxruntime", "onnxruntime+graph=off"], "does not say what spinning is"),
        ("onnxruntime", ["onnxruntime+launcher=venv", "onnxruntime+graph=off"], "names a launcher"),
        ("onnxruntime", ["onnxruntime+graph=off"] * 4, "16 combinations"),
    ],
)
def test_what_cannot_be_crossed_is_refused(first: str, others: list[str], says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        cross(first, others)


def test_a_plan_holds_them_in_their_order() -> None:
    _, arms = cross("onnxruntime", ["onnxruntime+graph=off", "onnxruntime+spinning=off"])
    made = several(Selection(models=("mlp",), scenarios=("latency",)), arms, available=(0, 1))
    assert [arm.id for block in made.blocks for arm in block.arms] == [arm.id for arm in arms]


def test_a_distribution_is_replaced_in_the_lock_of_each_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    other = catalogue.lock("canary").pins

    def replaced(base: catalogue.Lock, name: str, version: str) -> catalogue.Lock:
        pins = tuple(msgspec.structs.replace(pin, version=version) for pin in other if pin.name == name)
        return version_locks.mix(base, msgspec.structs.replace(base, pins=pins, sha256=version), [name])

    monkeypatch.setattr(locks, "with_distribution", replaced)
    axes, arms = cross("onnxruntime@1.29.0", ["onnxruntime@1.30.0", "numpy==2.3.5"])
    assert [axis.name for axis in axes] == ["@1.30.0", "numpy==2.3.5"]
    held = [catalogue.lock("onnxruntime", "cpu", arm.version).versions for arm in arms]
    assert [each["onnxruntime"] for each in held] == ["1.29.0", "1.29.0", "1.30.0", "1.30.0"]
    assert [each["numpy"] for each in held] == ["2.4.6", "2.3.5", "2.4.6", "2.3.5"]


def test_two_versions_of_one_distribution_are_no_axes() -> None:
    with pytest.raises(LevelfieldError, match="same thing: numpy"):
        cross("onnxruntime", ["numpy==2.3.5", "numpy==2.3.4"])

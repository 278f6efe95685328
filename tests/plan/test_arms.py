"""Arms as people type them, and back."""

import pytest

from levelfield import plan
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.plan import arms
from levelfield.record.schema import Arm

CURRENT = catalogue.current_version("onnxruntime")


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("jax", Arm("jax", "jax")),
        ("torch-compile", Arm("torch-compile", "torch")),
        ("onnxruntime@1.30.0", Arm("onnxruntime", "onnxruntime", version="1.30.0")),
        (f"onnxruntime@{CURRENT}", Arm("onnxruntime", "onnxruntime", version=CURRENT)),
        ("onnxruntime+spinning=off", Arm("onnxruntime", "onnxruntime", settings={"spinning": "off"})),
        ("jax+python=3.13", Arm("jax", "jax", version="py3.13")),
        (
            "onnxruntime+python=3.13+spinning=off#2",
            Arm("onnxruntime", "onnxruntime", version="py3.13", settings={"spinning": "off"}, ordinal=2),
        ),
        ("jax@0.12.0.1+python=3.13+launcher=venv", Arm("jax", "jax", version="0.12.0.1-py3.13", launcher="venv")),
        ("onnxruntime+launcher=venv", Arm("onnxruntime", "onnxruntime", launcher="venv")),
        (
            "onnxruntime@1.30.0+graph=basic+launcher=docker+spinning=off#2",
            Arm(
                "onnxruntime",
                "onnxruntime",
                version="1.30.0",
                settings={"graph": "basic", "spinning": "off"},
                ordinal=2,
                launcher="docker",
            ),
        ),
        (
            "onnxruntime@1.30.0+graph=basic+spinning=off#2",
            Arm(
                "onnxruntime",
                "onnxruntime",
                version="1.30.0",
                settings={"graph": "basic", "spinning": "off"},
                ordinal=2,
            ),
        ),
    ],
)
def test_an_arm_is_read_from_its_id(text: str, arm: Arm) -> None:
    assert arms.parse(text) == arm
    assert arm.id == text


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("onnx", "There is no backend called 'onnx'.", "'onnxruntime'"),
        ("canary", "There is no backend called 'canary'.", ""),
        ("", "names no backend", "levelfield list"),
        ("onnxruntime#x", "names no backend", "onnxruntime@1.30.0"),
        (
            "onnxruntime@1.29.7",
            "There is no lock of onnxruntime 1.29.7 for cpu.",
            "levelfield images lock onnxruntime@1.29.7",
        ),
        ("onnxruntime@1.29.7", "", f"1.31.1, {CURRENT}"),
        ("torch@cu99", "There is no lock of torch called 'cu99'.", "cpu"),
        ("onnxruntime+spining=off", "There is no setting of onnxruntime called 'spining'.", "'spinning'"),
        ("onnxruntime+spinning=of", "There is no value of onnxruntime's spinning called 'of'.", "'off'"),
        ("jax+spinning=off", "There is no setting of jax called 'spinning'.", "Known: frozen, launcher, python."),
        ("jax+python=3.12", "No base has Python 3.12.", "3.11 and 3.13"),
        ("jax+python=3", "'jax+python=3' names no Python.", "jax+python=3.13"),
        ("jax+python=../../x", "names no Python.", "jax+python=3.13"),
        (
            "torch+python=3.13",
            "There is no lock of torch with Python 3.13 for cpu.",
            "images lock torch+python",
        ),
        ("jax+launchr=venv", "There is no setting of jax called 'launchr'.", "'launcher'"),
        ("jax+launcher=podman", "There is no launcher called 'podman'.", "Choose docker, venv, host."),
        ("jax+launcher=", "There is no launcher called ''.", "Choose docker, venv, host."),
    ],
)
def test_an_arm_that_cannot_be_says_why(text: str, message: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        arms.parse(text)
    assert message in caught.value.message
    assert fix in caught.value.fix


def test_only_an_arm_of_an_ab_names_a_launcher() -> None:
    plain = Arm("jax", "jax")
    assert arms.of_one_launcher([plain]) == (plain,)
    with pytest.raises(LevelfieldError, match=r"jax\+launcher=venv names a launcher") as caught:
        plan.make(plan.Selection(backends=("torch", "jax+launcher=venv")), available=[0])
    assert "--launcher venv" in caught.value.fix
    assert "levelfield ab jax jax+launcher=venv" in caught.value.fix


def test_what_stands_twice_is_numbered() -> None:
    one = Arm("jax", "jax")
    assert [arm.id for arm in arms.numbered((one, one, one))] == ["jax", "jax#2", "jax#3"]
    assert [arm.id for arm in arms.numbered((one, Arm("jax", "jax", ordinal=2)))] == ["jax", "jax#2"]

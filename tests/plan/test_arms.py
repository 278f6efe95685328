"""Arms as people type them, and back."""

import importlib.util

import pytest

from levelfield import plan
from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.plan import Selection, arms, make
from levelfield.plan.arms import fitting_pythons, only_installed, parse
from levelfield.record.schema import Arm


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("torch-compile", Arm("torch-compile", "torch")),
        ("onnxruntime@1.30.0", Arm("onnxruntime", "onnxruntime", version="1.30.0")),
        ("onnxruntime+spinning=off", Arm("onnxruntime", "onnxruntime", settings={"spinning": "off"})),
        (
            "onnxruntime+python=3.13+spinning=off#2",
            Arm("onnxruntime", "onnxruntime", version="py3.13", settings={"spinning": "off"}, ordinal=2),
        ),
        ("jax@0.12.0.1+python=3.13+launcher=venv", Arm("jax", "jax", version="0.12.0.1-py3.13", launcher="venv")),
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
    ],
)
def test_an_arm_is_read_from_its_id(text: str, arm: Arm) -> None:
    assert arms.parse(text) == arm
    assert arm.id == text


def test_short_names_are_those_of_backends() -> None:
    assert arms.parse("ort@1.30.0+spinning=off").id == "onnxruntime@1.30.0+spinning=off"
    short = Selection(models=("mlp",), backends=("pt", "tf", "ov"), control="ov")
    assert make(short).backends == ("torch", "tensorflow", "openvino")
    assert "openvino#2" in {arm.id for block in make(short).blocks for arm in block.arms}


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("onnx", "There is no backend called 'onnx'.", "'onnxruntime'"),
        ("canary", "There is no backend called 'canary'.", ""),
        ("onnxruntime#x", "names no backend", "onnxruntime@1.30.0"),
        ("onnxruntime==1.30.0", "names no backend", "onnxruntime@1.30.0"),
        ("onnxruntime@1.29.7", "There is no lock of onnxruntime 1.29.7 for cpu.", "images lock onnxruntime@1.29.7"),
        ("onnxruntime@1.30", "There is no lock of onnxruntime 1.30 for cpu.", "Did you mean onnxruntime@1.30.0?"),
        ("torch@cu99", "There is no lock of torch called 'cu99'.", "cpu"),
        ("onnxruntime+spining=off", "There is no setting of onnxruntime called 'spining'.", "'spinning'"),
        ("onnxruntime+spinning=of", "There is no value of onnxruntime's spinning called 'of'.", "'off'"),
        ("jax+spinning=off", "There is no setting of jax called 'spinning'.", "Known: frozen, launcher, python."),
        ("jax+python=3.12", "No base has Python 3.12.", "3.11 and 3.13"),
        ("jax+python=../../x", "names no Python.", "jax+python=3.13"),
        ("torch+python=3.13", "There is no lock of torch with Python 3.13 for cpu.", "images lock torch+python"),
        ("jax+launcher=podman", "There is no launcher called 'podman'.", "Choose docker, venv, host."),
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


ALL = tuple(map(parse, ("torch", "torch-compile", "tensorflow", "jax", "onnxruntime", "openvino", "tensorrt")))
HERE = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))


def kept(*modules: str) -> list[str]:
    arms, _ = only_installed(ALL, there=lambda module: module in modules)
    return [arm.id for arm in arms]


def test_who_reads_onnx_needs_somebody_who_writes_it() -> None:
    assert kept("onnxruntime", "torch", "onnx") == ["torch", "torch-compile"]
    assert kept("onnxruntime", "torch", "onnx", "onnxscript") == ["torch", "torch-compile", "onnxruntime"]


def test_the_host_launcher_plans_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def only_two(name: str) -> object:
        return name in {"torch", "jax"} or (find_spec(name) if name.startswith("levelfield") else None)

    monkeypatch.setattr("importlib.util.find_spec", only_two)
    made = make(Selection(variant="auto", locked=False, scenarios=("latency",)), available=(0, 1), here=HERE)
    assert {arm.id for arm in made.blocks[0].arms if arm.ordinal == 1} == {
        "torch@cuda",
        "torch-compile@cuda",
        "jax@cuda",
    }
    assert [warning.code for warning in made.warnings] == ["not-installed"]
    named = make(Selection(locked=False, backends=("openvino",)), available=(0, 1))
    assert [warning.code for warning in named.warnings] == [], "who is named is tried, and says itself what is missing"


BACKENDS = ("onnxruntime", "jax", "torch")


def fitted(*pythons: str) -> list[str]:
    arms, _ = fitting_pythons(tuple(map(parse, BACKENDS)), pythons)
    return [arm.id for arm in arms]


@pytest.mark.parametrize(("named", "jax"), [((), "jax@0.10.2+python=3.11"), (("jax", "onnxruntime"), "jax")])
def test_only_of_backends_that_nobody_named(named: tuple[str, ...], jax: str) -> None:
    selection = Selection(models=("mlp",), scenarios=("latency",), backends=named, pythons=(catalogue.PYTHON,))
    made = make(selection, available=(0,))
    assert jax in made.images
    assert jax in made.backends
    told = [warning for warning in made.warnings if warning.code == "other-python"]
    assert [f"{jax} in place of jax." in warning.message for warning in told] == [True] * (not named)

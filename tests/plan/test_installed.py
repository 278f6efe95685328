"""What the current interpreter can run at all."""

import importlib.util

import pytest

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, installed, make
from levelfield.plan.arms import parse

ALL = tuple(map(parse, ("torch", "torch-compile", "tensorflow", "jax", "onnxruntime", "openvino", "tensorrt")))
HERE = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))


def kept(*modules: str) -> list[str]:
    arms, _ = installed.only(ALL, there=lambda module: module in modules)
    return [arm.id for arm in arms]


def test_only_what_is_there_stays() -> None:
    assert kept("torch", "jax") == ["torch", "torch-compile", "jax"]
    assert kept("tensorflow") == ["tensorflow"]


def test_what_an_arm_misses_is_known_by_name() -> None:
    assert installed.missing(parse("jax"), there=lambda _: False) == ("jax",)
    assert installed.missing(parse("torch-compile"), there=lambda module: module == "torch") == ()


def test_who_reads_onnx_needs_somebody_who_writes_it() -> None:
    assert kept("onnxruntime", "torch", "onnx") == ["torch", "torch-compile"]
    assert kept("onnxruntime", "torch", "onnx", "onnxscript") == ["torch", "torch-compile", "onnxruntime"]


def test_what_is_left_out_is_named_with_the_reason() -> None:
    _, (warning,) = installed.only(ALL, there=lambda module: module == "torch")
    assert warning.code == "not-installed"
    assert "need: tensorflow, jax, onnxruntime, openvino." in warning.message
    assert installed.only(ALL, there=lambda _: True)[1] == ()


def test_an_interpreter_without_any_is_refused() -> None:
    with pytest.raises(LevelfieldError, match="the framework of none of the backends") as caught:
        installed.only(ALL, there=lambda _: False)
    assert "pip install torch" in caught.value.fix


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


def test_modules_are_looked_for_and_not_imported() -> None:
    assert installed.has("json")
    assert not installed.has("no_such_module_anywhere")


def test_a_file_that_is_there_needs_nobody_who_writes_it() -> None:
    arms, _ = installed.only(ALL, there=lambda module: module in {"onnxruntime", "torch"}, exported=False)
    assert [arm.id for arm in arms] == ["torch", "torch-compile", "onnxruntime"]

"""Titles and colours: those of what is registered, and a name as it is where it is not."""

import msgspec
import pytest

from suite import scenarios
from suite.backends import registry
from suite.record.schema import Case
from suite.report import names
from suite.zoo import models


def test_a_model_is_shown_as_people_write_it() -> None:
    shown = ["MLP", "MobileNetV2", "ResNet-50", "Decoder", "BERT-base", "text embedder", "ViT-B/16"]
    assert [names.model(name) for name in models.names()] == shown
    assert names.model("canary") == "canary"
    assert names.model("<b>") == "<b>"
    assert names.question("decoder decode at 128") == "Decoder, decode at depth 128"
    assert names.question("decoder decode at 128, growing cache") == "Decoder, decode at depth 128, growing cache"
    assert names.question("llama convergence") == "small network of llama’s layers, convergence"


def test_a_page_says_which_cache_was_measured() -> None:
    static = Case("decoder", "decode", "fp32", 1, 2, depth=5)
    growing = msgspec.structs.replace(static, growing_cache=True)
    assert names.scenario_title(static) == "Decode at depth 5, static cache"
    assert names.scenario_title(growing) == "Decode at depth 5, growing cache"
    assert names.note(static).endswith("inter-token latency. " + names._OF_CACHE["static"])
    assert names.note(growing).endswith("inter-token latency. " + names._OF_CACHE["growing"])
    assert names.note(Case("mlp", "latency", "fp32", 1, 2)) == ""


def test_a_backend_is_shown_as_it_registered() -> None:
    assert names.backend("torch-compile") == "PyTorch, compiled"
    assert names.backend("caffe") == "caffe"


@pytest.mark.parametrize("name", ["mxnet", 'x" onload="', "tensorrt"])
def test_what_has_no_colour_gets_a_spare_one(name: str) -> None:
    assert names.colour(name) == names.colour(name)
    assert names.colour(name) in {f"b-spare-{index}" for index in range(4)}
    assert names.colour_on_white(name) in names.colour_styles()


def test_the_plug_ins_of_this_repository_have_a_colour_each() -> None:
    plug_ins = ("litert", "mxnet", "ncnn", "tvm")
    assert len(set(map(names.colour, plug_ins))) == len(set(map(names.colour_on_white, plug_ins))) == len(plug_ins)


def test_every_colour_has_a_class_and_both_grounds() -> None:
    style = names.colour_styles()
    coloured = {info.name: info.colours for info in map(registry.get, registry.all_names()) if info.colours is not None}
    assert coloured.keys() >= {*registry.names(), "keras-torch", "keras-jax", "keras-tensorflow"}
    for name, colours in coloured.items():
        assert names.colour(name) == f"b-{name}"
        assert names.colour_on_white(name) == colours[0]
        assert f".b-{name} {{ --b: var(--b-{name}); }}" in style
        for colour in colours:
            assert f"--b-{name}: {colour};" in style


def test_frameworks_are_reported_from_what_they_need() -> None:
    frameworks = ("torch", "tensorflow", "tensorflow-cpu", "jax", "onnxruntime", "onnxruntime-gpu", "openvino", "keras")
    assert all(map(names.is_framework, frameworks))
    assert not any(map(names.is_framework, ("numpy", "jaxlib", "flax", "torchvision")))


@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "unknown", 'x" onload="alert(1)', ""])
def test_a_colour_is_one_of_a_fixed_set(backend: str) -> None:
    assert names.colour(backend) == names.colour(backend)
    assert set(names.colour(backend)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_an_anchor_is_made_of_harmless_signs() -> None:
    assert names.anchor("Model", '"><b>') == "model-b"
    assert names.anchor("<>") == "section"


def test_every_scenario_has_a_name() -> None:
    assert all(names.scenario(scenario) != scenario for scenario in scenarios.NAMES)

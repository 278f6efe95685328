"""Titles and colours: those of what is registered, and a name as it is where it is not."""

import pytest

from levelfield.backends import registry
from levelfield.report import names


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


@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "unknown", 'x" onload="alert(1)', ""])
def test_a_colour_is_one_of_a_fixed_set(backend: str) -> None:
    assert names.colour(backend) == names.colour(backend)
    assert set(names.colour(backend)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_an_anchor_is_made_of_harmless_signs() -> None:
    assert names.anchor("Model", '"><b>') == "model-b"
    assert names.anchor("<>") == "section"

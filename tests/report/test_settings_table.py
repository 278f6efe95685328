"""The tables of settings, environment and libraries: what all arms share, and where they differ."""

import msgspec

from levelfield.report import settings_table
from tests.records_builder import make_run


def test_settings_are_reported_by_value_with_the_arms_that_have_it() -> None:
    found = settings_table.settings(make_run())
    assert ("threads", "2") in found.shared
    layout, mode = found.different
    assert (layout.name, mode.name) == ("layout", "mode")
    assert dict(layout.values) == {
        "native (MLP, BERT-base); channels_last (ResNet-50)": ("torch", "torch-compile"),
        "native": ("tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino"),
    }


def test_a_setting_that_only_some_arms_report_is_not_shared() -> None:
    run = make_run(models=("mlp",), scenarios=("memory",), generations=1)
    generation = run.blocks[0].generations[0]
    torch = generation.launches[0]
    first = msgspec.structs.replace(torch, settings=torch.settings | {"freezing": "on"})
    generation = msgspec.structs.replace(generation, launches=(first, *generation.launches[1:]))
    block = msgspec.structs.replace(run.blocks[0], generations=(generation,))
    found = settings_table.settings(msgspec.structs.replace(run, blocks=(block,)))
    assert [(line.name, line.values) for line in found.partial] == [("freezing", (("on", ("torch",)),))]


def test_libraries_are_reported_by_kind() -> None:
    run = make_run(models=("mlp",), scenarios=("memory",))
    found = settings_table.libraries(run)
    assert found.shared == (("OpenMP", "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"),), "a file by its path"
    (line,) = found.different
    assert ("libjax.so", ("jax",)) in line.values, "what lies inside another file by its name"

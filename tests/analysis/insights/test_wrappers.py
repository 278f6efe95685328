"""What a wrapper costs: over its engine's own arms, with an interval, and only where both are equal."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.backends import registry
from levelfield.record.schema import Run
from levelfield.report import insights
from tests.analysis.insights.derived import derived
from tests.records_builder import make_run


def keras_in_place_of(backend: str, engine: str, run: Run) -> Run:
    """Let an arm of a record be Keras on an engine: a record is what it says."""
    name = f"keras-{engine}"
    text = msgspec.json.encode(run).decode()
    renamed = msgspec.json.decode(text.replace(f'"{backend}"', f'"{name}"'), type=Run)
    blocks = []
    for block in renamed.blocks:
        generations = []
        for generation in block.generations:
            launches = tuple(
                msgspec.structs.replace(each, settings=each.settings | {"engine": f"{engine} 1.2.3"})
                if each.arm == name
                else each
                for each in generation.launches
            )
            generations.append(msgspec.structs.replace(generation, launches=launches))
        blocks.append(msgspec.structs.replace(block, generations=tuple(generations)))
    return msgspec.structs.replace(renamed, blocks=tuple(blocks))


def made(engine: str, noise_scale: float = 1.0) -> Run:
    run = make_run(models=("resnet50",), scenarios=("latency",), noise_scale=noise_scale)
    return keras_in_place_of("openvino", engine, run)


@pytest.mark.parametrize(
    ("engine", "against"),
    [("jax", ["jax"]), ("torch", ["torch", "torch-compile"]), ("tensorflow", ["tensorflow", "tensorflow-xla"])],
)
def test_a_wrapper_is_weighed_against_every_mode_of_its_engine(engine: str, against: list[str]) -> None:
    found = derived(made(engine)).wrappers
    assert [each.against for each in found] == against
    assert {each.arm for each in found} == {f"keras-{engine}"}
    for each in found:
        assert each.ratio.low is not None
        assert each.ratio.high is not None
        assert each.ratio.low < each.ratio.value < each.ratio.high


def test_the_ratio_is_that_of_the_times_of_a_call() -> None:
    run = made("jax", noise_scale=0.0)
    (found,) = derived(run).wrappers
    medians = {row.arm: row.call_ns for row in analyse(run).timed[0].rows}
    ours, theirs = medians["keras-jax"], medians["jax"]
    assert ours is not None
    assert theirs is not None
    assert found.ratio.value == pytest.approx(ours.value / theirs.value, rel=1e-6)


def test_it_is_one_sentence_for_each_case() -> None:
    (said,) = insights.wrappers(derived(made("torch")).wrappers)
    assert said.startswith("ResNet-50, latency, batch 1: keras-torch takes ")
    assert said.count(" times (") == 2
    assert "as long as torch;" in said


def test_inference_and_training_are_apart() -> None:
    run = make_run(models=("mlp", "resnet50"), scenarios=("latency", "training"), noise_scale=0.0)
    said = list(insights.wrappers(derived(keras_in_place_of("tensorflow", "jax", run)).wrappers))
    assert ["training" in sentence for sentence in said] == [False, False, True, True]
    assert all("keras-jax takes" in sentence for sentence in said)


def test_without_its_engine_nothing_is_said() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",))
    assert derived(run).wrappers == ()
    assert derived(keras_in_place_of("jax", "jax", run)).wrappers == ()


def test_what_is_wrapped_is_a_backend_of_its_own_whose_image_is_called_so() -> None:
    built_in = [name for name in registry.names_where_named() if registry.plugin_of(name) is None]
    for name in built_in:
        wraps = registry.get(name).wraps
        assert wraps in registry.names()
        assert registry.get(wraps).image == wraps
        assert name in {f"keras-{wraps}", "transformers"}

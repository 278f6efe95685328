"""When compiling pays back, by hand and from records."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.insights import payback
from levelfield.analysis.types import Estimate, Payback, PaybackVerdict
from levelfield.record.schema import Launch, Run
from levelfield.report import insights
from tests.analysis.changed import derived
from tests.known import known
from tests.records_builder import make_run, with_launches


def payback_of(run: Run, arm: str, against: str) -> Payback:
    return next(each for each in derived(run).payback if (each.arm, each.against) == (arm, against))


def test_compiling_is_weighed_against_the_same_framework_and_the_fastest() -> None:
    found = derived(make_run(models=("resnet50",), noise_scale=0.0)).payback
    assert {(each.arm, each.against) for each in found} == {
        ("torch-compile", "openvino"),
        ("torch-compile", "torch"),
        ("tensorflow-xla", "openvino"),
        ("tensorflow-xla", "tensorflow"),
        ("jax", "openvino"),
    }


def test_when_compiling_pays_back_by_hand() -> None:
    found = payback_of(make_run(models=("resnet50",), noise_scale=0.0), "torch-compile", "torch")
    # Both import in 1 s and start in 0.5 s; 16 s against 0.2 s to load, then a first call of three typical ones.
    extra_ns = (16.0 - 0.2) * 1e9 + 3 * (26e6 - 47e6)
    assert found.verdict == "after"
    assert known(found.calls).value == pytest.approx(extra_ns / (47e6 - 26e6), rel=1e-3)


def test_slower_calls_never_pay_back() -> None:
    found = payback_of(make_run(models=("resnet50",), noise_scale=0.0), "jax", "openvino")
    assert (found.verdict, found.calls) == ("never", None)


@pytest.mark.parametrize(
    ("cold", "other_cold", "ratio", "verdict", "calls"),
    [
        (Estimate(11e9), Estimate(1e9), Estimate(0.5), "after", Estimate(1000.0)),
        (Estimate(11e9), Estimate(1e9), Estimate(0.5, 0.4, 0.75), "after", Estimate(1000.0, 10e9 / 12e6, 2000.0)),
        (Estimate(11e9), Estimate(1e9), Estimate(0.98, 0.9, 1.1), "maybe", Estimate(25_000.0, 5_000.0)),
        (Estimate(11e9), Estimate(1e9), Estimate(1.5, 1.2, 1.7), "never", None),
        (Estimate(1e9), Estimate(2e9), Estimate(0.5, 0.4, 0.6), "at once", None),
        (
            Estimate(2e9, 1.5e9, 2.5e9), Estimate(1e9, 0.5e9, 1.8e9), Estimate(0.5, 0.5, 0.5), "after",
            Estimate(100.0, 0.0, 200.0),
        ),
    ],
)  # fmt: skip
def test_a_slower_start_against_faster_calls(
    cold: Estimate, other_cold: Estimate, ratio: Estimate, verdict: PaybackVerdict, calls: Estimate | None
) -> None:
    found, after = payback.weigh(cold, other_cold, 20e6, ratio)
    assert found == verdict
    if calls is None:
        assert after is None
        return
    for held, wanted in zip(msgspec.structs.astuple(known(after)), msgspec.structs.astuple(calls), strict=True):
        assert held == (wanted if wanted is None else pytest.approx(wanted))


def keras_in_place_of(backend: str, engine: str, run: Run) -> Run:
    """Let an arm of a record be Keras on an engine: a record is what it says."""
    name = f"keras-{engine}"
    text = msgspec.json.encode(run).decode()
    renamed = msgspec.json.decode(text.replace(f'"{backend}"', f'"{name}"'), type=Run)

    def on_engine(launch: Launch) -> Launch:
        return msgspec.structs.replace(launch, settings=launch.settings | {"engine": f"{engine} 1.2.3"})

    return with_launches(renamed, on_engine, name)


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
        assert known(each.ratio.low) < each.ratio.value < known(each.ratio.high)


def test_the_ratio_is_that_of_the_times_of_a_call() -> None:
    run = made("jax", noise_scale=0.0)
    (found,) = derived(run).wrappers
    medians = {row.arm: row.call_ns for row in analyse(run).timed[0].rows}
    ours, theirs = medians["keras-jax"], medians["jax"]
    assert found.ratio.value == pytest.approx(known(ours).value / known(theirs).value, rel=1e-6)


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

"""Insights follow from a record's numbers, by hand, and are silent where the evidence is missing."""

import math

import msgspec
import pytest

from suite.analysis import analyse
from suite.analysis.insights import payback, resources, saturation
from suite.analysis.types import CaseUse, Estimate, Insights, Payback, PaybackVerdict
from suite.record.schema import Absent, Roofline, Run
from tests.records_builder import LEVELS_MS, ROOFLINE, make_run

GEMM_PER_S = 2 * 2048**3 / 55e-3
"""Operations a second of the builder's probe: the median of its samples."""
MOVED_PER_S = 2 * 128 * 2**20 / 10e-3
"""Bytes a second: its copies are faster than its sums."""


def derived(run: Run) -> Insights:
    return analyse(run).insights


def use_of(run: Run, model: str, scenario: str = "latency") -> CaseUse:
    return next(use for use in derived(run).resources if (use.case.model, use.case.scenario) == (model, scenario))


def test_the_ceilings_are_medians_with_their_range() -> None:
    (ceilings,) = derived(make_run(models=("mlp",))).ceilings
    assert ceilings.flops.per_s == pytest.approx(GEMM_PER_S)
    assert ceilings.flops.lowest == pytest.approx(2 * 2048**3 / 57e-3)
    assert ceilings.flops.highest == pytest.approx(2 * 2048**3 / 54e-3)
    assert ceilings.flops.samples == 3
    assert ceilings.bytes.per_s == pytest.approx(MOVED_PER_S)


def test_shares_are_the_counted_arithmetic_over_the_time() -> None:
    use = use_of(make_run(models=("resnet50",), noise_scale=0.0), "resnet50")
    torch = next(arm for arm in use.uses if arm.arm == "torch")
    assert use.work.macs == 4_089_184_256
    assert torch.call_ns.value == pytest.approx(47e6)
    assert torch.flops_per_s.value == pytest.approx(2 * use.work.macs / 47e-3)
    assert torch.compute_share.value == pytest.approx(2 * use.work.macs / 47e-3 / GEMM_PER_S)
    moved = use.work.weight_bytes + use.work.activation_bytes
    assert torch.memory_share is not None
    assert torch.memory_share.value == pytest.approx(moved / 47e-3 / MOVED_PER_S)
    assert use.floor_ns == pytest.approx(1e9 * 2 * use.work.macs / GEMM_PER_S)
    assert 0 < use.fewer_products < 1
    assert torch.libraries == ("OpenMP", "oneDNN")


def test_a_call_of_a_throughput_case_is_its_batch() -> None:
    use = use_of(make_run(models=("bert",), noise_scale=0.0), "bert", "throughput")
    jax = next(arm for arm in use.uses if arm.arm == "jax")
    assert jax.call_ns.value == pytest.approx(510e6, rel=0.001)
    assert jax.compute_share.value == pytest.approx(2 * use.work.macs / 510e-3 / GEMM_PER_S, rel=0.001)


def test_intervals_of_the_time_become_those_of_the_share() -> None:
    arm = use_of(make_run(models=("bert",)), "bert").uses[0]
    assert arm.call_ns.low is not None
    assert arm.compute_share.low is not None
    assert arm.compute_share.high is not None
    assert arm.compute_share.low < arm.compute_share.value < arm.compute_share.high
    assert arm.compute_share.high * arm.call_ns.low == pytest.approx(arm.compute_share.value * arm.call_ns.value)


def test_what_bounds_a_case_follows_from_its_shares() -> None:
    bert = {arm.arm: arm.bound for arm in use_of(make_run(noise_scale=0.0), "bert").uses}
    assert bert["openvino"] == "compute"  # 22.3 GFLOP in 69 ms, of 312 GFLOP/s
    assert bert["torch"] == "neither"  # 150 ms
    mlp = use_of(make_run(noise_scale=0.0), "mlp")
    assert mlp.fits_cache
    assert {arm.bound for arm in mlp.uses} == {"overhead"}
    assert all(arm.memory_share is None for arm in mlp.uses)


@pytest.mark.parametrize(
    ("compute", "memory", "says"),
    [
        (0.5, 0.1, "compute"),
        (0.5, 0.6, "memory"),
        (0.05, 0.5, "memory"),
        (0.49, 0.49, "neither"),
        (0.1, None, "neither"),
    ],
)
def test_the_words_for_a_pair_of_shares(compute: float, memory: float | None, says: str) -> None:
    assert resources.bound(compute, memory) == says


def test_a_faster_library_is_above_the_yardstick_and_stays_there() -> None:
    slow = msgspec.structs.replace(ROOFLINE, gemm_ns=(100_000_000,))
    use = use_of(make_run(models=("bert",), noise_scale=0.0, roofline=(slow,)), "bert")
    assert max(arm.compute_share.value for arm in use.uses) == pytest.approx(
        2 * use.work.macs / 69e-3 / (17.18e10), rel=0.001
    )


@pytest.mark.parametrize(
    "roofline",
    [
        Absent("it was not measured"),
        (),
        (msgspec.structs.replace(ROOFLINE, threads=1),),
        (msgspec.structs.replace(ROOFLINE, disturbed="the hypervisor took 9.0% of the CPU time"),),
        (msgspec.structs.replace(ROOFLINE, gemm_ns=()),),
        (msgspec.structs.replace(ROOFLINE, gemm_ns=(0, 5)),),
        (msgspec.structs.replace(ROOFLINE, array_bytes=-1),),
    ],
)
def test_without_a_yardstick_nothing_is_said_of_resources(roofline: tuple[Roofline, ...] | Absent) -> None:
    assert derived(make_run(models=("mlp",), roofline=roofline)).resources == ()


def test_without_counts_an_equal_answer_or_fp32_nothing_is_said_of_resources() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",))
    assert derived(run).resources
    assert derived(msgspec.structs.replace(run, work=())).resources == ()
    wrong = make_run(models=("mlp",), scenarios=("latency",), unequal=[("jax", "mlp")])
    assert "jax" not in {arm.arm for arm in derived(wrong).resources[0].uses}
    half = msgspec.structs.replace(run.blocks[0], case=msgspec.structs.replace(run.blocks[0].case, precision="bf16"))
    assert derived(msgspec.structs.replace(run, blocks=(half,))).resources == ()


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
    assert {each.against for each in found if each.same_framework} == {"torch", "tensorflow"}


def test_when_compiling_pays_back_by_hand() -> None:
    found = payback_of(make_run(models=("resnet50",), noise_scale=0.0), "torch-compile", "torch")
    # Both import in 1 s and start in 0.5 s; 16 s against 0.2 s to load, then a first call of three typical ones.
    extra_ns = (16.0 - 0.2) * 1e9 + 3 * (26e6 - 47e6)
    assert found.verdict == "after"
    assert found.calls is not None
    assert found.calls.value == pytest.approx(extra_ns / (47e6 - 26e6), rel=1e-3)
    assert found.compile_ns == pytest.approx(16e9 + 78e6)


def test_slower_calls_never_pay_back() -> None:
    found = payback_of(make_run(models=("resnet50",), noise_scale=0.0), "jax", "openvino")
    assert (found.verdict, found.calls) == ("never", None)


def test_without_a_cold_start_nothing_is_said_of_payback() -> None:
    assert derived(make_run(models=("resnet50",), scenarios=("latency",))).payback == ()


@pytest.mark.parametrize(
    ("cold", "other_cold", "ratio", "verdict", "calls"),
    [
        (Estimate(11e9), Estimate(1e9), Estimate(0.5), "after", Estimate(1000.0)),
        (Estimate(11e9), Estimate(1e9), Estimate(0.5, 0.4, 0.75), "after", Estimate(1000.0, 10e9 / 12e6, 2000.0)),
        (Estimate(11e9), Estimate(1e9), Estimate(0.98, 0.9, 1.1), "maybe", Estimate(25_000.0, 5_000.0)),
        (Estimate(11e9), Estimate(1e9), Estimate(1.05, 0.9, 1.2), "maybe", None),
        (Estimate(11e9), Estimate(1e9), Estimate(1.5, 1.2, 1.7), "never", None),
        (Estimate(11e9), Estimate(1e9), Estimate(1.5), "never", None),
        (Estimate(1e9), Estimate(2e9), Estimate(0.5, 0.4, 0.6), "at once", None),
        (Estimate(1e9), Estimate(2e9), Estimate(1.0, 0.9, 1.1), "maybe", None),
        (
            Estimate(2e9, 1.5e9, 2.5e9),
            Estimate(1e9, 0.5e9, 1.8e9),
            Estimate(0.5, 0.5, 0.5),
            "after",
            Estimate(100.0, 0.0, 200.0),
        ),
    ],
)
def test_a_slower_start_against_faster_calls(
    cold: Estimate, other_cold: Estimate, ratio: Estimate, verdict: PaybackVerdict, calls: Estimate | None
) -> None:
    found, after = payback.weigh(cold, other_cold, 20e6, ratio)
    assert found == verdict
    if calls is None:
        assert after is None
        return
    assert after is not None
    for held, wanted in zip(msgspec.structs.astuple(after), msgspec.structs.astuple(calls), strict=True):
        assert held == (wanted if wanted is None else pytest.approx(wanted))


def test_a_batch_that_gains_nothing_saturates() -> None:
    (found,) = derived(make_run(models=("resnet50",), noise_scale=0.0)).saturation
    assert found.batches == (1, 8)
    assert found.case.id == "resnet50/throughput/fp32/b8/t2/cpu"
    arms = {arm.arm: arm for arm in found.arms}
    assert LEVELS_MS["resnet50", 8][4] > 8 * LEVELS_MS["resnet50", 1][4], "JAX is slower an item with the larger batch"
    assert arms["jax"].saturates_at == 1
    assert arms["jax"].gain == pytest.approx(1.0)
    assert arms["torch"].saturates_at is None
    assert arms["torch"].gain == pytest.approx(47 / (281 / 8), rel=0.001)


@pytest.mark.parametrize(
    ("spans", "reached", "allowed"),
    [
        ({1: (90, 89, 91), 8: (100, 99, 101)}, 8, (8,)),
        ({1: (97, 96.5, 97.5), 8: (100, 99, 101)}, 1, (1,)),
        ({1: (97, 94, 100), 8: (100, 99, 101)}, 1, (1, 8)),
        ({1: (90, 86, 94.1), 8: (100, 99, 101)}, 8, (1, 8)),
        ({1: (90, 86, 94), 8: (100, 99, 101)}, 8, (8,)),
        ({1: (50, 45, 55), 4: (93, 91, 96), 8: (98, 95, 99), 32: (100, 99, 101)}, 8, (4, 8, 32)),
        ({1: (50, 45, 55), 4: (99, 98, 100), 8: (98, 97, 99), 32: (100, 99, 101)}, 4, (4,)),
        ({1: (100, 99, 101), 8: (90, 89, 91)}, 1, (1,)),
        ({1: (100, None, None), 8: (90, 89, 91)}, 1, ()),
    ],
)
def test_what_the_intervals_allow_holds_what_was_found(
    spans: dict[int, tuple[float, float | None, float | None]], reached: int, allowed: tuple[int, ...]
) -> None:
    arm = saturation.reached("jax", "jax", {batch: Estimate(*span) for batch, span in spans.items()})
    assert arm.saturates_at == (None if reached == max(spans) else reached)
    assert arm.allowed == allowed
    assert reached in allowed or not allowed


def test_one_batch_is_no_sweep() -> None:
    assert derived(make_run(scenarios=("latency",))).saturation == ()


def test_headroom_is_what_the_peak_leaves() -> None:
    run = make_run(models=("bert",), scenarios=("memory",), noise_scale=0.0)
    (found,) = derived(run).headroom
    assert (found.least_arm, found.most_arm) == ("onnxruntime", "tensorflow-xla")
    assert found.most_bytes == int(1.2 * 2**30)
    assert found.limit_bytes == 12 * 2**30
    assert found.machine_bytes == 25_769_803_776
    assert found.weight_bytes == 4 * (12 * (12 * 768**2 + 9 * 768) + 130 * 768)
    unknown = msgspec.structs.replace(
        run, machine={}, settings=msgspec.structs.replace(run.settings, worker_memory_bytes=None)
    )
    (found,) = derived(unknown).headroom
    assert found.limit_bytes is None
    assert found.machine_bytes is None


def test_a_record_of_an_earlier_version_has_no_insights_it_lacks_the_evidence_for() -> None:
    run = make_run(models=("mlp",))
    old = msgspec.structs.replace(
        run,
        work=(),
        roofline=Absent("it was not measured"),
        settings=msgspec.structs.replace(run.settings, worker_memory_bytes=None),
    )
    found = derived(old)
    assert (found.ceilings, found.resources) == ((), ())
    assert found.payback
    assert math.isfinite(found.saturation[0].arms[0].gain)

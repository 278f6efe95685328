"""What bounds each case: shares of the measured ceilings, and silence where evidence is missing."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.insights import resources
from levelfield.analysis.types import CaseUse
from levelfield.record.disturbance import Reason
from levelfield.record.schema import Absent, Roofline, Run
from levelfield.report import insights
from levelfield.zoo import flops, models
from tests.analysis.changed import derived
from tests.known import known
from tests.records_builder import ROOFLINE, make_run

GEMM_PER_S = 2 * 2048**3 / 55e-3
"""Operations a second of the builder's probe: the median of its samples."""


MOVED_PER_S = 2 * 128 * 2**20 / 10e-3
"""Bytes a second: its copies are faster than its sums."""


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
    assert known(torch.memory_share).value == pytest.approx(moved / 47e-3 / MOVED_PER_S)
    assert use.floor_ns == pytest.approx(1e9 * 2 * use.work.macs / GEMM_PER_S)
    assert 0 < use.fewer_products < 1
    assert torch.libraries == ("OpenMP", "oneDNN")


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
    [(0.5, 0.1, "compute"), (0.5, 0.6, "memory"), (0.49, 0.49, "neither"), (0.1, None, "neither")],
)
def test_the_words_for_a_pair_of_shares(compute: float, memory: float | None, says: str) -> None:
    assert resources.bound(compute, memory) == says


@pytest.mark.parametrize(
    "roofline",
    [
        Absent("it was not measured"),
        (),
        (msgspec.structs.replace(ROOFLINE, threads=1),),
        (msgspec.structs.replace(ROOFLINE, disturbed=(Reason("steal", 0.09),)),),
        (msgspec.structs.replace(ROOFLINE, gemm_ns=(0, 5)),),
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


def test_headroom_is_what_the_peak_leaves() -> None:
    run = make_run(models=("bert",), scenarios=("memory",), noise_scale=0.0)
    (found,) = derived(run).headroom
    assert (found.least_arm, found.most_arm) == ("onnxruntime", "tensorflow-xla")
    assert (found.most_bytes, found.limit_bytes) == (int(1.2 * 2**30), 12 * 2**30)
    assert found.machine_bytes == 25_769_803_776
    assert found.weight_bytes == 4 * (12 * (12 * 768**2 + 9 * 768) + 130 * 768)
    unknown = msgspec.structs.replace(
        run, machine={}, settings=msgspec.structs.replace(run.settings, worker_memory_bytes=None)
    )
    (found,) = derived(unknown).headroom
    assert found.limit_bytes is None
    assert found.machine_bytes is None


PARTS = ("gemm-3072x128x768", "gemm-768x128x3072")
OFTEN = 12
PLACES = ("mlp", "resnet50")


def made(parts: tuple[str, ...] = PARTS, noise_scale: float = 0.0) -> Run:
    """Let latencies of other networks be of BERT's operators: a record is what it says."""
    places = PLACES[: len(parts)]
    run = make_run(models=("bert", *places), scenarios=("latency",), noise_scale=noise_scale)
    text = msgspec.json.encode(run).decode()
    for place, name in zip(places, parts, strict=True):
        text = text.replace(f'"model":"{place}","scenario":"latency"', f'"model":"{name}","scenario":"operators"')
    work = tuple(
        msgspec.structs.replace(flops.count(models.get(name)), operators=flops.operators_of(name, parts))
        for name in ("bert", *parts)
    )
    return msgspec.structs.replace(msgspec.json.decode(text, type=Run), work=work)


def test_the_share_is_the_sum_of_the_operators_over_a_call() -> None:
    run = made()
    (found,) = derived(run).explained
    assert (found.case.model, found.operators) == ("bert", len(PARTS))
    assert 0.6 < found.macs_share < 0.7
    whole, *parts = ({row.arm: row.call_ns for row in block.rows} for block in analyse(run).timed)
    for each in found.arms:
        times = [part[each.arm] for part in parts]
        called = known(whole[each.arm])
        by_hand = OFTEN * sum(time.value for time in times if time is not None)
        assert each.share.value == pytest.approx(by_hand / called.value, rel=1e-6)
    assert {each.arm for each in found.arms} == set(whole)


def test_intervals_come_from_launches_and_stand_in_the_sentence() -> None:
    (found,) = derived(made(noise_scale=1.0)).explained
    assert all(
        each.share.low is not None and each.share.high is not None and each.share.low < each.share.value
        for each in found.arms
    )
    sentence = insights.explained(found)
    assert sentence.startswith("BERT-base, latency")
    assert "2 operators with 65\u00a0% of the arithmetic" in sentence
    assert f"{found.arms[0].arm} {found.arms[0].share.value:.3g} (" in sentence


def test_nothing_is_said_of_a_part_of_the_arithmetic() -> None:
    assert derived(made(PARTS[1:])).explained == ()

"""A lower precision against fp32: how much faster, how much further from the reference; ranked never across."""

from functools import partial

import msgspec
import pytest

from levelfield.analysis import analyse, scaling
from levelfield.analysis.scaling import Tradeoff
from levelfield.record.schema import Launch, Run
from tests.known import known
from tests.records_builder import SPEEDS, make_run, with_launches

ARMS = ("torch", "onnxruntime", "openvino")


made = partial(
    make_run, models=("mlp",), backends=ARMS, scenarios=("latency",), precisions=("fp32", "bf16", "int8"), max_calls=20
)


def only(run: Run) -> Tradeoff:
    (found,) = scaling.tradeoffs(run, analyse(run).blocks)
    return found


def test_precisions_stand_side_by_side_and_are_not_ranked_together() -> None:
    run = made()
    analysis = analyse(run)
    assert [block.case.precision for block in analysis.timed] == ["fp32", "bf16", "int8"]
    for block in analysis.timed:
        ranks = [row.rank for row in block.rows if row.rank is not None]
        assert min(ranks) == 1, "each precision has a best of its own"
    found = only(run)
    assert found.precisions == ("fp32", "bf16", "int8")
    assert {(level.precision, level.row.arm) for level in found.levels} == {
        (name, arm) for name in found.precisions for arm in ARMS
    }


@pytest.mark.parametrize("name", ["bf16", "int8"])
def test_the_speed_up_is_over_the_same_arm_in_fp32(name: str) -> None:
    for level in only(made()).levels:
        if level.precision == name and level.row.standing == "ranked":
            assert level.speed_up is not None
            assert known(level.speed_up.low) < 1 / SPEEDS[name] < known(level.speed_up.high)
            assert level.speed_up.value == pytest.approx(1 / SPEEDS[name], rel=0.05)
    exact = only(made(noise_scale=0.0))
    ups = [level.speed_up for level in exact.levels if level.precision == name and level.speed_up]
    assert [up.value for up in ups] == pytest.approx([1 / SPEEDS[name]] * len(ups), rel=1e-3)


def test_fp32_has_no_speed_up_and_a_precision_alone_none_either() -> None:
    assert all(level.speed_up is None for level in only(made()).levels if level.precision == "fp32")
    assert all(level.speed_up is None for level in only(made(precisions=("bf16", "int8"))).levels)


def test_who_does_not_compute_in_it_is_absent_with_the_reason() -> None:
    run = made()
    absent = {
        (level.row.arm, level.precision): level.row for level in only(run).levels if level.row.standing == "absent"
    }
    assert set(absent) == {("onnxruntime", "bf16"), ("torch", "int8")}
    assert "no bf16 kernels" in absent["onnxruntime", "bf16"].reason
    assert analyse(run).exit_code == 0
    assert not analyse(run).status.failed


def test_one_precision_is_no_tradeoff() -> None:
    run = made(precisions=("bf16",))
    assert scaling.tradeoffs(run, analyse(run).blocks) == ()
    assert scaling.tradeoffs(made(models=()), analyse(made(models=())).blocks) == ()


def test_a_claim_that_does_not_hold_is_shown_and_warned_of_by_its_reason() -> None:
    run = made(precisions=("fp32", "bf16"))
    reason = "It was asked for bf16 and computed in fp32: its relative error is 5.0e-07."

    def lie(launch: Launch) -> Launch:
        wrong = msgspec.structs.replace(known(launch.parity), equal=False, computed_in="fp32", reason=reason)
        return msgspec.structs.replace(launch, parity=wrong)

    fp32, bf16 = run.blocks
    lied = with_launches(msgspec.structs.replace(run, blocks=(bf16,)), lie, "torch").blocks
    run = msgspec.structs.replace(run, blocks=(fp32, *lied))
    analysis = analyse(run)
    assert analysis.exit_code == 1
    (warning,) = [each for each in analysis.warnings if each.code == "not-as-claimed"]
    assert warning.about == "torch/mlp/bf16"
    assert reason.rstrip(".") in warning.message
    (level,) = [each for each in only(run).levels if (each.row.arm, each.precision) == ("torch", "bf16")]
    assert level.row.standing == "unequal"
    assert level.row.rank is None


def test_a_processor_without_the_instructions_is_said_to_emulate() -> None:
    run = made(precisions=("fp32", "bf16"))
    assert not [each for each in analyse(run).warnings if each.code == "emulated"]
    plain = msgspec.structs.replace(run, machine={"cpu": {"flags": "avx2 avx512f"}})
    (warning,) = [each for each in analyse(plain).warnings if each.code == "emulated"]
    assert warning.about == "bf16"
    assert "avx512_bf16" in warning.message

"""Cases that are timed in windows: exact records, disturbed rounds, slow starts and windows that are none."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.types import TimedBlock
from levelfield.record.schema import Run
from tests.analysis.changed import exact, replace_windows, rows
from tests.known import known
from tests.records_builder import BACKENDS, LEVELS_MS, make_run, with_launches


def test_an_exact_record_gives_exact_figures() -> None:
    block = analyse(exact(scenarios=("latency",))).timed[0]
    assert block.best == "openvino"
    assert [row.arm for row in block.rows] == [
        "openvino", "onnxruntime", "torch-compile", "tensorflow-xla", "tensorflow", "jax", "torch",
    ]  # fmt: skip
    assert [row.rank for row in block.rows] == [1, 2, 3, 4, 5, 6, 7]
    for row in block.rows:
        expected_ns = LEVELS_MS["resnet50", 1][BACKENDS.index(row.backend)] * 1e6
        assert row.call_ns is not None
        assert row.call_ns.value == pytest.approx(expected_ns, rel=1e-6)
        assert row.call_ns.low == pytest.approx(expected_ns, rel=1e-6)
        assert known(row.ratio).value == pytest.approx(expected_ns / 21.3e6, rel=1e-6)
        assert row.p90_ns == pytest.approx(expected_ns, rel=1e-6)


def test_throughput_is_items_over_window_time() -> None:
    block = analyse(exact(scenarios=("throughput",))).timed[0]
    assert block.best == "onnxruntime"
    first = block.rows[0]
    # A call of 172 ms and 200 ns between two calls, for 8 items.
    assert known(first.items_per_second).value == pytest.approx(8 / (172e-3 + 200e-9), rel=1e-6)


def test_disturbed_rounds_are_left_out_and_both_figures_kept() -> None:
    analysis = analyse(exact(scenarios=("latency",), disturbed=[1, 3]))
    block = analysis.timed[0]
    assert (block.rounds, block.rounds_disturbed, block.rounds_kept) == (30, 10, 0)
    assert block.disturbances == ("the hypervisor took 9.2% of the CPU time (10 rounds)",)
    row = rows(analysis)["openvino"]
    assert (row.counts.windows, row.counts.windows_disturbed) == (30, 10)
    assert known(row.call_ns).value == pytest.approx(21.3e6, rel=1e-6)
    assert row.with_disturbed is not None


def test_where_every_round_was_disturbed_they_are_kept_and_said() -> None:
    builtins = msgspec.to_builtins(exact(scenarios=("latency",)))
    for generation in builtins["blocks"][0]["generations"]:
        for round_ in generation["rounds"]:
            round_["disturbed"] = "the hypervisor took 9.2% of the CPU time"
    analysis = analyse(msgspec.convert(builtins, Run))
    assert rows(analysis)["openvino"].counts.windows == 30
    assert rows(analysis)["openvino"].with_disturbed is None
    assert analysis.timed[0].rounds_kept == analysis.status.rounds_kept == 30
    assert analysis.status.too_disturbed
    assert "too-disturbed" in [warning.code for warning in analysis.warnings]


def test_intervals_are_wider_where_precision_could_end_the_run() -> None:
    """Of seven launches: means of more are trimmed where precision could not end the run. Two arms lean on no other."""
    two = ("jax", "torch")
    fixed, sequential = (
        analyse(
            make_run(models=("resnet50",), backends=two, generations=7, control="jax", precision_target=target)
        ).timed[0]
        for target in (None, 0.01)
    )
    assert [row.call_ns for row in fixed.rows] == [row.call_ns for row in sequential.rows]
    before, after = ([each.controls[0].ratio, known(each.rows[1].ratio)] for each in (fixed, sequential))
    for narrow, wide in zip(before, after, strict=True):
        assert known(wide.high) > known(narrow.high)


@pytest.mark.parametrize(
    "window",
    [{"samples_ns": []}, {"samples_ns": [0, 0, 0]}, {"samples_ns": [-5, 10, 20]}, {"window_ns": 0}],
    ids=["no samples", "zero times", "a negative time", "no duration"],
)
def test_windows_that_no_clock_can_give_are_not_counted(window: dict[str, object]) -> None:
    analysis = analyse(replace_windows(exact(scenarios=("latency", "throughput")), "openvino", **window))
    row = rows(analysis)["openvino"]
    assert row.call_ns is None
    assert (row.counts.windows_failed, row.standing) == (30, "absent")
    assert analysis.timed[0].best == "onnxruntime"


def test_slow_first_windows_are_left_out_and_counted() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",), rounds=12, noise_scale=0.1)
    builtins = msgspec.to_builtins(run)
    for generation in builtins["blocks"][0]["generations"]:
        for round_ in generation["rounds"][:3]:
            for turn in round_["turns"]:
                if turn["arm"] == "jax":
                    turn["window"]["samples_ns"] = [2 * ns for ns in turn["window"]["samples_ns"]]
    row = rows(analyse(msgspec.convert(builtins, Run)))["jax"]
    assert (row.counts.windows_warming, row.counts.windows) == (15, 45)
    assert known(row.call_ns).value == pytest.approx(44e6, rel=0.02)


SCENARIOS = ("latency", "training")


def training(run: Run) -> TimedBlock:
    (block,) = (block for block in analyse(run).timed if block.case.trains)
    return block


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run(models=("mlp",), scenarios=SCENARIOS)


def test_it_is_ranked_by_items_a_second(run: Run) -> None:
    block = training(run)
    assert block.case.id == "mlp/training/fp32/b1000/t2/cpu"
    assert {row.arm for row in block.rows} == {"torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"}
    assert block.best == "jax"
    row = next(row for row in block.rows if row.arm == "torch")
    assert known(row.items_per_second).value == pytest.approx(1000 / known(row.call_ns).value * 1e9, rel=0.03)
    assert row.p90_ns is not None
    assert row.peak_bytes == pytest.approx(0.6 * 2**30, rel=0.1)
    latency = next(block for block in analyse(run).timed if not block.case.trains)
    assert all(row.peak_bytes is None for row in latency.rows), "its launches did other work too"


def test_an_answer_does_not_speak_for_a_training_nor_the_other_way_round(run: Run) -> None:
    status = analyse(run).status
    assert (status.answers, status.answers_equal) == (7 + 5, 12)

    def without(trains: bool) -> Run:
        silent = with_launches(run, lambda launch: msgspec.structs.replace(launch, parity=None))
        pairs = zip(run.blocks, silent.blocks, strict=True)
        return msgspec.structs.replace(run, blocks=tuple(pair[pair[0].case.trains == trains] for pair in pairs))

    for trains in (True, False):
        for block in analyse(without(trains)).timed:
            compared = block.case.trains != trains
            assert {row.standing for row in block.rows} == {"ranked" if compared else "shown"}

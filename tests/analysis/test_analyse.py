"""What analysis says about whole records: exact ones, noisy ones, broken ones and very large ones."""

import time
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from suite.analysis import analyse, timed_windows
from suite.analysis.types import Analysis, Row, TimedBlock
from suite.record.schema import Absent, Arm, Block, Case, Failure, Generation, Launch, Memory, Round, Run, Turn, Window
from suite.statistics.student import MIN_LAUNCHES
from tests.records_builder import BACKENDS, LEVELS_MS, make_noise, make_run

CRASHED = Failure(stage="load", kind="crashed", message="The worker ended with signal 9.")
UNSUPPORTED = Failure(stage="load", kind="unsupported", message="It needs a C++ compiler.")


def rows(analysis: Analysis, place: int = 0) -> dict[str, Row]:
    return {row.arm: row for row in analysis.timed[place].rows}


def exact(**changes: object) -> Run:
    """A record without any noise: every figure is known beforehand."""
    return make_run(models=("resnet50",), noise_scale=0.0, **changes)  # type: ignore[arg-type]


def replace_launches(run: Run, arm: str, **changes: object) -> Run:
    """Change every launch of an arm, in every block."""

    def launch(found: Launch) -> Launch:
        return msgspec.structs.replace(found, **changes) if found.arm == arm else found

    def generation(found: Generation) -> Generation:
        return msgspec.structs.replace(found, launches=tuple(map(launch, found.launches)))

    def block(found: Block) -> Block:
        return msgspec.structs.replace(found, generations=tuple(map(generation, found.generations)))

    return msgspec.structs.replace(run, blocks=tuple(map(block, run.blocks)))


def replace_windows(run: Run, arm: str, **changes: object) -> Run:
    """Change every timed window of an arm, in every block."""
    found = msgspec.to_builtins(run)
    for block in found["blocks"]:
        for generation in block["generations"]:
            for round_ in generation["rounds"]:
                for turn in round_["turns"]:
                    if turn["arm"] == arm:
                        turn["window"] |= changes
    return msgspec.convert(found, Run)


def test_an_exact_record_gives_exact_figures() -> None:
    block = analyse(exact(scenarios=("latency",))).timed[0]
    assert block.best == "openvino"
    assert [row.arm for row in block.rows] == [
        "openvino", "onnxruntime", "torch-compile", "tensorflow-xla", "tensorflow", "jax", "torch",
    ]  # fmt: skip
    assert [row.rank for row in block.rows] == [1, 2, 3, 4, 5, 6, 7]
    for row in block.rows:
        expected_ns = LEVELS_MS["resnet50", 1][BACKENDS.index(row.backend)] * 1e6
        assert row.median_ns is not None
        assert row.median_ns.value == pytest.approx(expected_ns, rel=1e-6)
        assert row.median_ns.low == pytest.approx(expected_ns, rel=1e-6)
        assert row.ratio is not None
        assert row.ratio.value == pytest.approx(expected_ns / 21.3e6, rel=1e-6)
        assert row.p90_ns == pytest.approx(expected_ns, rel=1e-6)


def test_throughput_is_items_over_window_time() -> None:
    block = analyse(exact(scenarios=("throughput",))).timed[0]
    assert block.best == "onnxruntime"
    first = block.rows[0]
    assert first.items_per_second is not None
    # A call of 172 ms and 200 ns between two calls, for 8 items.
    assert first.items_per_second.value == pytest.approx(8 / (172e-3 + 200e-9), rel=1e-6)


def test_cpu_utilisation_is_cpu_time_over_window_time() -> None:
    row = analyse(exact(scenarios=("latency",))).timed[0].rows[0]
    assert row.cpu_cores == pytest.approx(1.92, rel=1e-6)


def test_upper_quantiles_are_told_only_where_there_are_calls_enough() -> None:
    fewest = rows(analyse(make_run(models=("mlp",), scenarios=("latency",), max_calls=5, rounds=1)))["torch"]
    few = rows(analyse(make_run(models=("mlp",), scenarios=("latency",), max_calls=9)))["torch"]
    many = rows(analyse(make_run(models=("mlp",), scenarios=("latency",), max_calls=10)))["torch"]
    assert (fewest.counts.calls, fewest.p90_ns, fewest.p99_ns) == (25, None, None)
    assert few.p90_ns is not None
    assert (few.counts.calls, few.p99_ns) == (270, None)
    assert many.counts.calls == 300
    assert many.p99_ns is not None
    assert many.p90_ns is not None
    assert many.p99_ns > many.p90_ns


@pytest.mark.parametrize("launches", range(1, MIN_LAUNCHES))
def test_too_few_launches_show_numbers_and_never_rank(launches: int) -> None:
    block = analyse(make_run(models=("resnet50",), generations=launches, scenarios=("latency",))).timed[0]
    assert block.best is None
    assert f"a ranking takes {MIN_LAUNCHES}" in block.unranked_reason
    assert [row.arm for row in block.rows] == list(BACKENDS)  # the order of the plan: nothing looks ranked
    for row in block.rows:
        assert row.standing == "shown"
        assert row.rank is None
        assert row.ratio is None
        assert row.median_ns is not None
        assert row.median_ns.low is None
        assert len(row.launch_medians_ns) == launches


def test_an_unequal_result_is_shown_as_such_and_never_ranked() -> None:
    analysis = analyse(exact(unequal=[("openvino", "resnet50")]))  # it would have been the fastest
    row = rows(analysis)["openvino"]
    assert row.standing == "unequal"
    assert row.rank is None
    assert row.ratio is None
    assert row.median_ns is not None
    assert analysis.timed[0].best == "onnxruntime"
    assert analysis.exit_code == 1
    assert len(analysis.status.unequal) == 4  # latency, throughput, cold start, memory
    assert analysis.status.answers_equal == analysis.status.answers - 1
    assert [warning.about for warning in analysis.warnings if warning.code == "not-equal"] == ["openvino/resnet50/fp32"]


def test_one_unequal_launch_is_enough() -> None:
    run = exact(scenarios=("latency",))
    worse = exact(scenarios=("latency",), unequal=[("jax", "resnet50")])
    generations = (*run.blocks[0].generations[:4], worse.blocks[0].generations[4])
    block = msgspec.structs.replace(run.blocks[0], generations=generations)
    row = rows(analyse(msgspec.structs.replace(run, blocks=(block,))))["jax"]
    assert row.standing == "unequal"


def test_an_output_that_was_not_compared_is_not_ranked() -> None:
    analysis = analyse(replace_launches(exact(scenarios=("latency",)), "openvino", parity=None))
    row = rows(analysis)["openvino"]
    assert row.standing == "shown"
    assert "not compared" in row.reason
    assert analysis.timed[0].best == "onnxruntime"


def test_a_cold_start_takes_its_parity_from_the_arms_other_blocks() -> None:
    run = exact(scenarios=("latency", "cold-start"), unequal=[("jax", "resnet50")])
    latency, cold = run.blocks
    silent = replace_launches(msgspec.structs.replace(run, blocks=(cold,)), "jax", parity=None).blocks[0]
    found = analyse(msgspec.structs.replace(run, blocks=(latency, silent))).cold[0]
    assert {row.arm: row.standing for row in found.rows}["jax"] == "unequal"


def test_a_crash_costs_its_own_case_only() -> None:
    analysis = analyse(make_run(models=("mlp", "resnet50"), failures={("jax", "mlp"): CRASHED}))
    assert analysis.exit_code == 1
    assert {name.split("/")[1] for name in analysis.status.failed} == {"mlp"}
    failed, fine = (rows(analysis, place)["jax"] for place in (0, 2))
    assert (failed.standing, failed.reason, failed.median_ns) == ("failed", CRASHED.message, None)
    assert fine.standing == "ranked"
    assert {row.standing for row in analysis.timed[0].rows} == {"ranked", "failed"}


def test_what_is_not_supported_is_absent_with_its_reason_and_no_failure() -> None:
    analysis = analyse(make_run(models=("mlp",), failures={("torch-compile", "mlp"): UNSUPPORTED}))
    row = rows(analysis)["torch-compile"]
    assert (row.standing, row.reason) == ("absent", UNSUPPORTED.message)
    assert analysis.exit_code == 0
    assert analysis.status.failed == ()
    assert len(analysis.status.absent) == 4


def test_a_run_in_which_nothing_could_be_measured_did_not_run() -> None:
    analysis = analyse(
        make_run(models=("mlp",), backends=("torch-compile",), failures={("torch-compile", "mlp"): UNSUPPORTED})
    )
    assert len(analysis.status.absent) == analysis.status.results
    assert analysis.exit_code == 2


def test_disturbed_rounds_are_left_out_and_both_figures_kept() -> None:
    analysis = analyse(exact(scenarios=("latency",), disturbed=[1, 3]))
    block = analysis.timed[0]
    assert (block.rounds, block.rounds_disturbed) == (30, 10)
    assert block.rounds_kept == 0
    assert block.disturbances == ("steal: 9.2 % of the CPU time (10 rounds)",)
    row = rows(analysis)["openvino"]
    assert row.counts.windows == 30
    assert row.counts.windows_disturbed == 10
    assert row.median_ns is not None
    assert row.median_ns.value == pytest.approx(21.3e6, rel=1e-6)
    assert row.with_disturbed is not None


def test_where_every_round_was_disturbed_they_are_kept_and_said() -> None:
    run = exact(scenarios=("latency",))
    builtins = msgspec.to_builtins(run)
    for generation in builtins["blocks"][0]["generations"]:
        for round_ in generation["rounds"]:
            round_["disturbed"] = "pressure"
    analysis = analyse(msgspec.convert(builtins, Run))
    assert rows(analysis)["openvino"].counts.windows == 30
    assert rows(analysis)["openvino"].with_disturbed is None
    assert analysis.timed[0].rounds_kept == analysis.status.rounds_kept == 30
    assert analysis.status.too_disturbed
    assert "too-disturbed" in [warning.code for warning in analysis.warnings]


def test_the_control_is_compared_and_not_ranked() -> None:
    analysis = analyse(make_run(models=("resnet50",), control="onnxruntime"))
    block = analysis.timed[0]
    assert rows(analysis)["onnxruntime#2"].standing == "control"
    assert "onnxruntime#2" not in (block.best, *block.also_first)
    (control,) = block.controls
    assert (control.arm, control.of) == ("onnxruntime#2", "onnxruntime")
    assert control.ratio.low is not None
    assert control.ratio.value == pytest.approx(1, abs=0.1)


def test_intervals_are_wider_where_precision_could_end_the_run() -> None:
    fixed, sequential = (
        analyse(make_run(models=("resnet50",), generations=8, control="jax", precision_target=target)).timed[0]
        for target in (None, 0.01)
    )
    assert [row.median_ns for row in fixed.rows] == [row.median_ns for row in sequential.rows]
    before = [fixed.controls[0].ratio, *(row.ratio for row in fixed.rows if row.ratio)]
    after = [sequential.controls[0].ratio, *(row.ratio for row in sequential.rows if row.ratio)]
    assert len(before) == len(after) == 8
    for narrow, wide in zip(before, after, strict=True):
        assert narrow.high is not None
        assert wide.high is not None
        assert wide.high > narrow.high


def test_identical_arms_share_the_first_rank() -> None:
    analysis = analyse(make_run(models=("resnet50",), scenarios=("latency",), slower={"onnxruntime": 21.3 / 21.9}))
    block = analysis.timed[0]
    assert {block.best, *block.also_first} == {"onnxruntime", "openvino"}
    assert [row.rank for row in block.rows][:3] == [1, 1, 3]


def test_rows_stand_by_rank_and_ranks_never_contradict_the_estimates_beside_them() -> None:
    shared = 0
    for seed in range(20):
        for block in analyse(make_run(seed=seed, scenarios=("latency",), max_calls=5, rounds=2, noise_scale=3)).timed:
            ranked = [(row.rank, row.ratio.value) for row in block.rows if row.rank and row.ratio]
            assert ranked == sorted(ranked), "rank 2 never stands above rank 1"
            behind = [estimate for rank, estimate in ranked if rank > 1]
            assert behind == sorted(behind)
            assert {row.arm for row in block.rows if row.rank == 1} == {block.best, *block.also_first}
            shared += bool(block.also_first)
    assert shared


def block_of(levels_ns: Sequence[float], rng: np.random.Generator, *, generations: int, rounds: int) -> Block:
    """Return a block with windows of the measured variances, and nothing else in it that an analysis looks at."""
    arms = tuple(Arm(backend=f"b{number}", image="i") for number in range(len(levels_ns)))
    parity = make_run(models=("mlp",), generations=1).blocks[0].generations[0].launches[0].parity
    made = []
    for index in range(generations):
        own = np.asarray(levels_ns) * np.exp(0.008 * rng.standard_normal(len(arms)))
        drift = np.exp(0.044 * rng.standard_normal((rounds, 1)))
        times = own * drift * np.exp(0.046 * rng.standard_normal((rounds, len(arms))))
        launches = tuple(Launch(arm=arm.id, started="", parity=parity) for arm in arms)
        made.append(
            Generation(
                index=index,
                seed=index,
                launches=launches,
                rounds=tuple(map(round_of, range(rounds), times)),
                complete=True,
            )
        )
    case = Case(model="mlp", scenario="latency", precision="fp32", batch=1, threads=2)
    return Block(case=case, arms=arms, planned_generations=generations, generations=tuple(made))


def round_of(index: int, times_ns: Sequence[float]) -> Round:
    noise = make_noise(10**9)
    return Round(
        index=index,
        turns=tuple(
            Turn(
                arm=f"b{arm}",
                noise=noise,
                window=Window(
                    rewarm_ns=(),
                    samples_ns=(round(time_ns),) * 3,
                    window_ns=3 * round(time_ns),
                    user_ns=1,
                    system_ns=0,
                    voluntary_switches=0,
                    involuntary_switches=0,
                    minor_faults=0,
                    major_faults=0,
                ),
            )
            for arm, time_ns in enumerate(times_ns)
        ),
    )


@pytest.mark.parametrize(
    ("levels_ns", "true_ranks"),
    [
        ([1e6] * 7, [1] * 7),
        ([1e6, 1.35e6, 1.35e6, 1.8e6, 1.8e6, 2.5e6, 2.5e6], [1, 2, 2, 4, 4, 6, 6]),
    ],
    ids=["seven equal arms", "the best and three equal pairs"],
)
def test_at_most_one_block_in_twenty_has_a_false_rank(levels_ns: list[float], true_ranks: list[int]) -> None:
    """From windows to ranks as a report has them: five launches of two rounds each."""
    rng = np.random.default_rng(20)
    blocks = 1000
    false = 0
    for _ in range(blocks):
        found = timed_windows.analyse(
            block_of(levels_ns, rng, generations=5, rounds=2), {}, margin=0.02, sequential=False
        )
        ranks = {row.arm: row.rank for row in found.rows}
        false += any((ranks[f"b{arm}"] or 0) > rank for arm, rank in enumerate(true_ranks))
    # The bound that a share of 5 % stays below in all but one of 1000 such series.
    assert false <= binom.ppf(0.999, blocks, 0.05)


def test_the_order_of_arms_in_the_plan_changes_nothing() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",))
    block = msgspec.structs.replace(run.blocks[0], arms=run.blocks[0].arms[::-1])
    turned = analyse(msgspec.structs.replace(run, blocks=(block,)))
    assert [(row.arm, row.rank) for row in turned.timed[0].rows] == [
        (row.arm, row.rank) for row in analyse(run).timed[0].rows
    ]


def test_a_run_cut_off_says_so_and_keeps_what_was_measured() -> None:
    run = make_run(models=("mlp", "resnet50"), scenarios=("latency",), finished=False)
    empty = msgspec.structs.replace(run.blocks[1], generations=())
    analysis = analyse(msgspec.structs.replace(run, blocks=(run.blocks[0], empty)))
    assert not analysis.status.finished
    assert "cut-off" in [warning.code for warning in analysis.warnings]
    assert analysis.timed[0].best is not None
    assert {row.standing for row in analysis.timed[1].rows} == {"absent"}
    assert analysis.timed[1].unranked_reason


def test_an_empty_record_is_analysed() -> None:
    run = msgspec.structs.replace(make_run(), blocks=())
    analysis = analyse(run)
    assert analysis.blocks == ()
    assert analysis.canary is None
    assert analysis.noise is None
    assert analysis.exit_code == 0


@pytest.mark.parametrize(
    "window",
    [
        {"samples_ns": []},
        {"samples_ns": [0, 0, 0]},
        {"samples_ns": [-5, 10, 20]},
        {"window_ns": 0},
        {"window_ns": -1},
    ],
    ids=["no samples", "zero times", "a negative time", "no duration", "a negative duration"],
)
def test_windows_that_no_clock_can_give_are_not_counted(window: dict[str, object]) -> None:
    analysis = analyse(replace_windows(exact(scenarios=("latency", "throughput")), "openvino", **window))
    row = rows(analysis)["openvino"]
    assert row.median_ns is None
    assert row.counts.windows_failed == 30
    assert row.standing == "absent"
    assert analysis.timed[0].best == "onnxruntime"


def test_huge_numbers_are_survived() -> None:
    analysis = analyse(replace_windows(exact(scenarios=("latency",)), "openvino", samples_ns=[2**63 - 1, 2**63 - 2]))
    assert rows(analysis)["openvino"].rank == 7


def test_cold_start_leaves_our_own_weights_out() -> None:
    analysis = analyse(exact(scenarios=("cold-start",)))
    row = next(row for row in analysis.cold[0].rows if row.arm == "onnxruntime")
    assert (row.start_ns, row.import_ns, row.load_ns) == (0.5e9, 0.1e9, 0.4e9)
    assert row.total_ns is not None
    assert row.total_ns.value == pytest.approx(0.5e9 + 0.1e9 + 0.4e9 + 3 * 21.9e6)


def test_one_cold_start_has_a_value_and_no_interval() -> None:
    row = analyse(exact(scenarios=("cold-start",), generations=1)).cold[0].rows[0]
    assert row.total_ns is not None
    assert row.total_ns.low is None


def test_memory_that_could_not_be_read_is_absent_with_the_reason() -> None:
    run = exact(scenarios=("memory",), generations=1)
    unread = Memory(peak_rss_bytes=Absent("no cgroup tells"), rss_bytes=Absent("the same"), source="cgroup")
    row = analyse(replace_launches(run, "torch", memory=unread)).memory[0].rows[0]
    assert (row.arm, row.standing, row.reason, row.peak_bytes) == ("torch", "absent", "no cgroup tells", None)


def test_memory_is_a_median_with_its_range() -> None:
    row = analyse(make_run(models=("mlp",), scenarios=("memory",))).memory[0].rows[0]
    assert row.peak_bytes is not None
    assert row.least_bytes is not None
    assert row.most_bytes is not None
    assert row.least_bytes < row.peak_bytes < row.most_bytes


def test_the_canary_shows_a_machine_that_slowed_down() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",), noise_scale=0.0, rounds=2, generations=18)
    builtins = msgspec.to_builtins(run)
    for index, generation in enumerate(builtins["blocks"][0]["generations"]):
        for round_ in generation["rounds"]:
            for turn in round_["turns"]:
                turn["window"]["samples_ns"] = [int(ns * 1.05**index) for ns in turn["window"]["samples_ns"]]
    analysis = analyse(msgspec.convert(builtins, Run))
    assert analysis.canary is not None
    assert len(analysis.canary.points) == 18
    assert analysis.canary.spread == pytest.approx(1.05**17 - 1, rel=1e-3)
    assert analysis.canary.drift == pytest.approx(1.05**12 - 1, rel=1e-3)
    assert "machine-moved" in [warning.code for warning in analysis.warnings]
    assert [row.arm for row in analysis.timed[0].rows if row.rank == 1] == ["openvino"]  # ratios hold all the same


def test_noise_is_a_share_of_a_core_and_absent_where_it_was_not_read() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), rounds=2, generations=1)
    builtins = msgspec.to_builtins(run)
    for round_ in builtins["blocks"][0]["generations"][0]["rounds"]:
        for turn in round_["turns"]:
            turn["noise"] |= {"steal_ns": {"type": "absent", "reason": "not a guest"}, "others_ns": 100_000_000}
    noise = analyse(msgspec.convert(builtins, Run)).noise
    assert noise is not None
    assert noise.steal_share == Absent("not a guest")
    assert noise.others_share == pytest.approx(0.1 / 0.4)


def test_a_busy_supervisor_is_warned_of() -> None:
    codes = [warning.code for warning in analyse(make_run(models=("mlp",), supervisor_window_share=0.02)).warnings]
    assert codes.count("supervisor-busy") == 1


def test_a_warning_in_the_record_is_not_said_twice() -> None:
    said = analyse(make_run(models=("mlp",), finished=False)).warnings
    again = analyse(make_run(models=("mlp",), finished=False, warnings=said)).warnings
    assert again == said


def test_slow_first_windows_are_left_out_and_counted() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",), rounds=12, noise_scale=0.1)
    builtins = msgspec.to_builtins(run)
    for generation in builtins["blocks"][0]["generations"]:
        for round_ in generation["rounds"][:3]:
            for turn in round_["turns"]:
                if turn["arm"] == "jax":
                    turn["window"]["samples_ns"] = [2 * ns for ns in turn["window"]["samples_ns"]]
    row = rows(analyse(msgspec.convert(builtins, Run)))["jax"]
    assert row.counts.windows_warming == 15
    assert row.counts.windows == 45
    assert row.median_ns is not None
    assert row.median_ns.value == pytest.approx(44e6, rel=0.02)


@pytest.mark.alone
def test_a_million_samples_take_less_than_two_seconds() -> None:
    run = make_run(models=("mlp",), scenarios=("latency", "throughput"), rounds=8, max_calls=2)
    samples = tuple(np.random.default_rng(1).integers(8_000, 12_000, 1_800).tolist())
    run = msgspec.structs.replace(run, blocks=tuple(_with_samples(block, samples) for block in run.blocks))
    begun = time.process_time()
    analysis = analyse(run)
    spent = time.process_time() - begun
    assert sum(row.counts.calls for block in analysis.timed for row in block.rows) > 1_000_000
    assert spent < 2


def _with_samples(block: Block, samples: tuple[int, ...]) -> Block:
    def window(found: Window | None) -> Window | None:
        return found and msgspec.structs.replace(found, samples_ns=samples)

    return msgspec.structs.replace(
        block,
        generations=tuple(
            msgspec.structs.replace(
                generation,
                rounds=tuple(
                    msgspec.structs.replace(
                        round_,
                        turns=tuple(msgspec.structs.replace(turn, window=window(turn.window)) for turn in round_.turns),
                    )
                    for round_ in generation.rounds
                ),
            )
            for generation in block.generations
        ),
    )


def test_every_block_is_answered_in_the_order_of_the_record() -> None:
    run = make_run()
    analysis = analyse(run)
    assert [block.case for block in analysis.blocks] == [block.case for block in run.blocks]
    assert all(isinstance(block, TimedBlock) for block in analysis.timed)
    assert len(analysis.timed) == 6

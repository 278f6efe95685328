"""Cold starts and peak memory: medians over launches, and reasons where there are none."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.whole_launch import generation_seconds, total_ns
from levelfield.record.schema import Absent, Block, IdleWait, Memory
from tests.analysis.changed import exact, replace_launches
from tests.records_builder import CANARY, make_run


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


RUN = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), generations=3, rounds=2, max_calls=9)
(BLOCK,) = RUN.blocks


def changed_turns(block: Block, **changes: object) -> Block:
    """Change every turn of a block."""
    generations = tuple(
        msgspec.structs.replace(
            generation,
            rounds=tuple(
                msgspec.structs.replace(
                    round_, turns=tuple(msgspec.structs.replace(turn, **changes) for turn in round_.turns)
                )
                for round_ in generation.rounds
            ),
        )
        for generation in block.generations
    )
    return msgspec.structs.replace(block, generations=generations)


def turns(block: Block) -> int:
    return sum(len(round_.turns) for generation in block.generations for round_ in generation.rounds)


def startups_s(block: Block) -> float:
    return sum(
        (total_ns(launch.startup) + launch.startup.weights_ns) / 1e9
        for generation in block.generations
        for launch in generation.launches
        if launch.startup is not None
    )


def test_a_block_without_generations_costs_nothing_that_is_known() -> None:
    assert generation_seconds(msgspec.structs.replace(BLOCK, generations=())) == 0.0


def test_it_is_the_mean_of_launches_and_turns() -> None:
    lasted_s = sum(
        turn.noise.elapsed_ns / 1e9
        for generation in BLOCK.generations
        for round_ in generation.rounds
        for turn in round_.turns
        if turn.noise is not None
    )
    assert generation_seconds(BLOCK) == pytest.approx((startups_s(BLOCK) + lasted_s) / 3)
    one = msgspec.structs.replace(BLOCK, generations=BLOCK.generations[:1])
    assert generation_seconds(one) == pytest.approx(generation_seconds(BLOCK), rel=0.2), "not three times as long"


def test_a_turn_lasts_as_long_as_its_window_where_nothing_else_is_known() -> None:
    unseen = changed_turns(BLOCK, noise=None)
    windows_s = sum(
        turn.window.window_ns / 1e9
        for generation in BLOCK.generations
        for round_ in generation.rounds
        for turn in round_.turns
        if turn.window is not None
    )
    assert generation_seconds(unseen) == pytest.approx((startups_s(BLOCK) + windows_s) / 3)


def test_waits_before_windows_count_and_lost_turns_do_not() -> None:
    waited = changed_turns(BLOCK, settling=IdleWait(2_000_000_000, (), ()))
    assert generation_seconds(waited) - generation_seconds(BLOCK) == pytest.approx(2 * turns(BLOCK) / 3)
    assert generation_seconds(changed_turns(BLOCK, window=None)) == pytest.approx(startups_s(BLOCK) / 3)


def test_warming_up_counts_and_the_canary_that_is_launched_once_a_run_does_not() -> None:
    turn = BLOCK.generations[0].rounds[0].turns[0]
    assert turn.window is not None
    second = msgspec.structs.replace(turn.window, window_ns=1_000_000_000)
    warmed = replace_launches(RUN, "jax", warmup=(second, second)).blocks[0]
    assert generation_seconds(warmed) - generation_seconds(BLOCK) == pytest.approx(2.0)
    startup = BLOCK.generations[0].launches[0].startup
    assert startup is not None
    assert generation_seconds(replace_launches(RUN, CANARY, startup=startup).blocks[0]) == generation_seconds(BLOCK)


def test_a_training_to_a_target_lasts_until_its_last_evaluation() -> None:
    (block,) = make_run(models=("mlp",), backends=("jax",), scenarios=("convergence",), generations=2).blocks
    trained_s = sum(
        launch.convergence.points[-1].elapsed_ns / 1e9
        for generation in block.generations
        for launch in generation.launches
        if launch.convergence is not None
    )
    assert trained_s > 0
    assert generation_seconds(block) == pytest.approx((startups_s(block) + trained_s) / 2)

"""What one more generation would cost in time, from what a record holds."""

import msgspec
import pytest

from levelfield.analysis.generation_time import generation_seconds
from levelfield.analysis.whole_launch import total_ns
from levelfield.record.schema import Block, IdleWait
from tests.analysis.changed import replace_launches
from tests.records_builder import CANARY, make_run

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

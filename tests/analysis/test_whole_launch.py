"""Cold starts and peak memory: medians over launches, and reasons where there are none."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.whole_launch import generation_seconds, total_ns
from levelfield.record.schema import Absent, Block, IdleWait, Memory
from tests.analysis.changed import exact, replace_launches
from tests.records_builder import launches_of, make_run, turns_of, with_turns


def test_cold_start_leaves_our_own_weights_out() -> None:
    analysis = analyse(exact(scenarios=("cold-start",)))
    row = next(row for row in analysis.cold[0].rows if row.arm == "onnxruntime")
    assert (row.start_ns, row.import_ns, row.load_ns) == (0.5e9, 0.1e9, 0.4e9)
    assert row.total_ns is not None
    assert row.total_ns.value == pytest.approx(0.5e9 + 0.1e9 + 0.4e9 + 3 * 21.9e6)


def test_memory_that_could_not_be_read_is_absent_with_the_reason() -> None:
    run = exact(scenarios=("memory",), generations=1)
    unread = Memory(peak_rss_bytes=Absent("no cgroup tells"), rss_bytes=Absent("the same"), source="cgroup")
    row = analyse(replace_launches(run, "torch", memory=unread)).memory[0].rows[0]
    assert (row.arm, row.standing, row.reason, row.peak_bytes) == ("torch", "absent", "no cgroup tells", None)


RUN = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), generations=3, rounds=2, max_calls=9)
(BLOCK,) = RUN.blocks


def changed_turns(**changes: object) -> Block:
    """Change every turn of the block."""
    return with_turns(RUN, lambda turn: msgspec.structs.replace(turn, **changes)).blocks[0]


def startups_s(block: Block) -> float:
    return sum(
        (total_ns(launch.startup) + launch.startup.weights_ns) / 1e9
        for launch in launches_of(block)
        if launch.startup is not None
    )


def test_it_is_the_mean_of_launches_and_turns() -> None:
    lasted_s = sum(turn.noise.elapsed_ns / 1e9 for turn in turns_of(BLOCK) if turn.noise is not None)
    assert generation_seconds(BLOCK) == pytest.approx((startups_s(BLOCK) + lasted_s) / 3)
    one = msgspec.structs.replace(BLOCK, generations=BLOCK.generations[:1])
    assert generation_seconds(one) == pytest.approx(generation_seconds(BLOCK), rel=0.2), "not three times as long"


def test_waits_before_windows_count_and_lost_turns_do_not() -> None:
    waited = changed_turns(settling=IdleWait(2_000_000_000, (), ()))
    assert generation_seconds(waited) - generation_seconds(BLOCK) == pytest.approx(2 * len([*turns_of(BLOCK)]) / 3)
    assert generation_seconds(changed_turns(window=None)) == pytest.approx(startups_s(BLOCK) / 3)

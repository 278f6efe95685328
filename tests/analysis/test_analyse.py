"""What analysis says about whole records: empty ones, huge ones and very large ones."""

import time

import msgspec
import numpy as np

from suite.analysis import analyse
from suite.analysis.types import TimedBlock
from suite.record.schema import Block, Window
from tests.analysis.changed import exact, replace_windows, rows
from tests.records_builder import make_run


def test_an_empty_record_is_analysed() -> None:
    run = msgspec.structs.replace(make_run(), blocks=())
    analysis = analyse(run)
    assert analysis.blocks == ()
    assert analysis.canary is None
    assert analysis.noise is None
    assert analysis.exit_code == 0


def test_huge_numbers_are_survived() -> None:
    analysis = analyse(replace_windows(exact(scenarios=("latency",)), "openvino", samples_ns=[2**63 - 1, 2**63 - 2]))
    assert rows(analysis)["openvino"].rank == 7


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

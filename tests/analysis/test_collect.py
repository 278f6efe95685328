"""Launches, turns and windows of a block, in the order of the record."""

import msgspec
import numpy as np

from levelfield.analysis import collect
from levelfield.record.schema import Absent, Launch, Memory, Window
from tests.records_builder import make_run

BLOCK = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency",), generations=2, rounds=3).blocks[0]


def test_a_window_s_median_is_the_bits_that_numpy_gives() -> None:
    rng = np.random.default_rng(1)
    for calls in (*range(1, 40), 999, 1000):
        samples = tuple(rng.integers(1, 10**9, calls).tolist())
        window = Window((), samples, sum(samples), 0, 0, 0, 0, 0, 0)
        assert collect.summarise_window(window, (0, 0)).median_ns == float(np.median(samples))


def test_a_window_that_holds_no_times_failed() -> None:
    first = BLOCK.generations[0]
    turn = next(turn for turn in first.rounds[0].turns if turn.arm == "jax")
    assert turn.window is not None
    emptied = msgspec.structs.replace(turn, window=msgspec.structs.replace(turn.window, samples_ns=(0,)))
    turns = tuple(emptied if each is turn else each for each in first.rounds[0].turns)
    rounds = (msgspec.structs.replace(first.rounds[0], turns=turns), *first.rounds[1:])
    block = msgspec.structs.replace(BLOCK, generations=(msgspec.structs.replace(first, rounds=rounds),))
    (launch,) = collect.summaries(block, "jax")
    assert (len(launch.windows), launch.windows_failed) == (2, 1)


def test_peaks_that_were_not_read_are_left_out() -> None:
    read, unread = (
        Launch(arm="jax", started="", memory=Memory(rss_bytes=1, peak_rss_bytes=peak, source=""))
        for peak in (100, Absent("no cgroup"))
    )
    assert collect.peak_bytes([read, unread, Launch(arm="jax", started="")]) == 100.0
    assert collect.peak_bytes([unread]) is None

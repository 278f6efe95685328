"""The script that pyperf runs; `test_command.py` lets pyperf run it."""

import time

from studies.peers.inside import pyperf_series


def test_the_slowdown_of_a_series_is_as_long_as_it_is_said() -> None:

    step = pyperf_series.slowed(lambda inputs: inputs, 2_000_000)
    began = time.perf_counter_ns()
    assert step(7) == 7
    assert time.perf_counter_ns() - began >= 2_000_000

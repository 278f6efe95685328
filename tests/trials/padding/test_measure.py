"""A generation of the padding trial, taken for real by canaries."""

import pytest

from suite.machine.signals import Signals
from suite.schedule.rounds import Pace
from suite.trials.padding.measure import TOGETHER, generation
from tests import canaries


@pytest.mark.alone
def test_half_of_the_launches_are_padded_and_all_take_turns() -> None:
    made = canaries.plan("latency")
    (block,) = made.blocks
    site = canaries.site(made)
    with Signals(site.cpus) as signals:
        taken = generation(site, block.case, block.arms[0], Pace(2, 5_000_000, 3, 0), signals, "7/canary/0")
    assert not canaries.workers()
    assert [row.treatment for row in taken.launches] == ["fixed"] * TOGETHER + ["random"] * TOGETHER
    assert {row.padding_bytes for row in taken.launches[:TOGETHER]} == {0}
    lengths = [row.padding_bytes for row in taken.launches[TOGETHER:]]
    assert len(set(lengths)) == TOGETHER
    assert 0 <= min(lengths) <= max(lengths) <= 4095
    assert all(len(row.windows_ns) == 2 and min(row.windows_ns) > 0 for row in taken.launches)
    assert len(taken.disturbed) == 2

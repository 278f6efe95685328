"""How much memory one worker may take."""

import psutil

from suite.machine import worker_memory


def test_a_worker_takes_a_share_of_its_node_and_never_more_than_the_most() -> None:
    assert worker_memory.limit_bytes(8 << 30) == 6 << 30
    assert worker_memory.limit_bytes(1 << 40) == worker_memory.MOST_BYTES


def test_where_it_is_bound_to_no_node_it_is_a_share_of_the_machine() -> None:
    whole = psutil.virtual_memory().total
    assert worker_memory.limit_bytes() == min(worker_memory.MOST_BYTES, int(whole * worker_memory.SHARE))

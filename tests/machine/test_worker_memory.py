"""How much memory one worker may take."""

from pathlib import Path

import psutil

from levelfield.machine import worker_memory
from tests.machine.folders import V2, write


def test_a_worker_takes_a_share_of_its_node_and_never_more_than_the_most(tmp_path: Path) -> None:
    assert worker_memory.limit_bytes(8 << 30, tmp_path) == 6 << 30
    assert worker_memory.limit_bytes(1 << 40, tmp_path) == worker_memory.MOST_BYTES


def test_where_it_is_bound_to_no_node_it_is_a_share_of_the_machine(tmp_path: Path) -> None:
    whole = psutil.virtual_memory().total
    assert worker_memory.limit_bytes(root=tmp_path) == min(worker_memory.MOST_BYTES, int(whole * worker_memory.SHARE))


def test_it_is_within_what_control_groups_allow(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/pod/job", "sys/fs/cgroup/pod/memory.max": f"{4 << 30}"},
    )
    assert worker_memory.limit_bytes(8 << 30, tmp_path) == 3 << 30

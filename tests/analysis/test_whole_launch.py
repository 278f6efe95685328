"""Cold starts and peak memory: medians over launches, and reasons where there are none."""

import pytest

from levelfield.analysis import analyse
from levelfield.record.schema import Absent, Memory
from tests.analysis.changed import exact, replace_launches
from tests.records_builder import make_run


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

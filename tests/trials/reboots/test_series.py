"""A kernel is really changed: the shortest upgrade, with one power cut, in four minutes or so on two quiet cores."""

import os
import shutil
from pathlib import Path

import pytest

from suite.trials.reboots import series, system
from suite.trials.reboots.command import PLAN
from suite.trials.reboots.findings import find
from suite.trials.reboots.series import Order

OLD, NEW = system.release(system.OLD), system.release(system.NEW)


@pytest.mark.docker
@pytest.mark.extended
@pytest.mark.alone  # it takes all CPUs
@pytest.mark.skipif(
    bool(os.geteuid()) or not all(map(shutil.which, ("qemu-system-x86_64", "mmdebstrap", "chroot"))),
    reason="it needs root, qemu-system-x86, mmdebstrap and chroot",
)
def test_a_guest_reboots_into_another_kernel_and_loses_nothing_when_its_power_is_cut(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    kernels = system.make(image, print)
    order = Order("short", 1, PLAN, slowdown=0.2, cuts=1, seed=5, one_way=True)
    made = series.run(order, image, kernels, tmp_path, print)
    counted = [boot for boot in made.boots if not boot.cut]
    assert [(boot.kernel, boot.side, boot.counted, boot.result) for boot in counted] == [
        (OLD, "old", 1, "success 0"),
        (NEW, "new", 2, "success 0"),
    ]
    assert [level.kernel for level in made.levels] == [OLD, NEW]
    assert made.windows_lost == 0
    assert made.lost_settings == ()
    assert [boot.cut for boot in made.boots] in ([False, True, False], [False, False])  # it may end before the cut
    holds = {each.statement: each.holds for each in find([made])}
    assert holds["short: every boot that began a run knew its side"]
    assert all(boot.rounds_announced <= boot.rounds_on_disk for boot in made.boots)

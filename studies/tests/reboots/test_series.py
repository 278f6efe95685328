"""A kernel is really changed: the shortest upgrade, with one power cut, in four minutes or so on two quiet cores."""

import os
import shutil
from pathlib import Path

import pytest

from levelfield.record.files import JOURNAL
from levelfield.record.journal import GenerationBegun, Journal, RoundDone, TurnTaken
from levelfield.record.schema import Turn, Window
from studies.reboots import series, system
from studies.reboots.command import PLAN
from studies.reboots.record import find
from studies.reboots.series import Held, Order, held, missing

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


def reports(tmp_path: Path, turns: int) -> Path:
    folder = tmp_path / "reports" / "run"
    folder.mkdir(parents=True)
    with Journal(folder / JOURNAL) as journal:
        journal.write(GenerationBegun("case", 0, 1))
        for index in range(turns):
            journal.write(
                TurnTaken("case", 0, index, Turn("onnxruntime", Window((), (300 + index,), 900, 900, 0, 0, 0, 0, 0)))
            )
            journal.write(RoundDone("case", 0, index))
    return tmp_path / "reports"


def test_a_window_that_is_gone_is_counted_and_a_new_one_is_not(tmp_path: Path) -> None:
    before = held(reports(tmp_path, 3))
    assert before["run"].rounds == 3
    assert len(before["run"].windows) == 3
    longer = {"run": Held(4, (*before["run"].windows, before["run"].windows[0]))}
    assert missing(before, longer) == 0
    assert missing(longer, before) == 1
    assert missing(before, {}) == 3


def test_there_may_be_no_folder_yet(tmp_path: Path) -> None:
    assert held(tmp_path / "none") == {}

"""What is checked of series that are made up, good and bad, and of a kernel that is really changed."""

import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from levelfield.record.files import JOURNAL
from levelfield.record.journal import GenerationBegun, Journal, RoundDone, TurnTaken
from levelfield.record.schema import Turn, Window
from studies.commands import read, write
from studies.reboots import series as made_series
from studies.reboots import system
from studies.reboots.command import PLAN, analyse, main, orders
from studies.reboots.record import Boot, Case, Level, Record, Series, find, markdown
from studies.reboots.series import Held, Order, cuts_due, held, missing

OLD, NEW = system.release(system.OLD), system.release(system.NEW)
RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("reboots-*.json"))


def boot(kernel: str, counted: int, *, cut: bool = False, **changed: Any) -> Boot:
    result, said = ("", "") if cut else ("success 0", "Next: reboot, 1 more boot on this side.")
    side = "new" if kernel == NEW else "old"
    whole = Boot(kernel, 20, 60, cut, result, said, counted, f"run-{counted}", side, 1, 2, 4)
    return msgspec.structs.replace(whole, **changed)


def series(verdict: str = "same", slowdown: float = 0.0, cuts: int = 0, lost: int = 0) -> Series:
    kernels = (OLD, OLD, NEW, NEW, OLD, OLD)
    whole = [boot(kernel, number) for number, kernel in enumerate(kernels, start=1)]
    cut = [boot(OLD, 1, cut=True) for _ in range(cuts)]
    return Series(
        name="made up",
        slowdown=slowdown,
        boots=(whole[0], *cut, *whole[1:]),
        levels=tuple(Level("before", each.run, each.kernel, 3e5) for each in whole),
        windows_kept=4 * cuts,
        windows_lost=lost,
        answer="Nothing is decided.",
        cases=(Case("mlp/latency/fp32/b1/t2/cpu", verdict, 1.01, 0.9, 1.1, ""),),
        lost_settings=(),
        seconds=600,
    )


def holds(*made: Series) -> dict[str, bool]:
    return {each.statement.removeprefix("made up: "): each.holds for each in find(made)}


def test_all_holds_of_series_that_went_well() -> None:
    assert all(holds(series("slower", slowdown=0.2)).values())
    found = holds(series("not decided", cuts=10))
    assert all(found.values())
    assert len(found) == 7


GOOD = series(cuts=10)
EARLY, STUCK = boot(OLD, 1, cut=True, rounds_announced=3), boot(OLD, 2, result="exit-code 2")


@pytest.mark.parametrize(
    ("made", "statement"),
    [
        (series("not decided", slowdown=0.2), "20% under the new kernel is called slower"),
        (series("slower"), "nothing is called worse"),
        (series(cuts=10, lost=1), "no window that was on the disk is lost"),
        (series(cuts=9), "the power was cut 10 times or more"),
        (
            (*GOOD.boots[:3], EARLY, GOOD.boots[-1]),
            "every round that the console showed was on the disk when the power was cut",
        ),
        ((*GOOD.boots[:2], STUCK, GOOD.boots[-1]), "it goes on by itself at the next boot"),
        ((boot(NEW, 6, side="old"), *GOOD.boots[1:]), "every boot that began a run knew its side"),
        (GOOD.boots[:-1], "6 boots or more count"),
    ],
)
def test_what_went_wrong_is_seen(made: Series | tuple[Boot, ...], statement: str) -> None:
    whole = made if isinstance(made, Series) else msgspec.structs.replace(GOOD, boots=made)
    assert not holds(whole)[statement]


def test_cuts_are_spread_over_the_boots_after_the_first() -> None:
    order = orders(2, 0.2, 10, 1)[1]
    assert [cuts_due(order, counted) for counted in range(6)] == [0, 2, 4, 6, 8, 10]


def record() -> Record:
    return Record(
        schema=1,
        started="2026-11-24T00:00:00Z",
        finished="2026-11-24T00:30:00Z",
        tool_version="1",
        machine={},
        seed=3,
        boots_each=2,
        plan=PLAN,
        emulator="QEMU emulator version 7.2.22",
        packages=dict((system.OLD, system.NEW)),
        series=(series("slower", slowdown=0.2), series(cuts=10)),
    )


def test_a_record_is_analysed_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "reboots.json"
    write(record(), path)
    done = CliRunner().invoke(main, ["--analyse", str(path)])
    assert done.exit_code == 0, done.output
    again = read(path, Record)
    assert again == analyse(record())
    shown = path.with_suffix(".md").read_text()
    assert shown == markdown(again)
    assert "**no**" not in shown
    assert shown.count("power cut |") == 10


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_committed_findings_follow_from_the_committed_boots(path: Path) -> None:
    found = read(path, Record)
    assert analyse(found) == found
    assert markdown(found) == path.with_suffix(".md").read_text()
    assert all(each.holds for each in found.findings)


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
    made = made_series.run(order, image, kernels, tmp_path, print)
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
            window = Window((), (300 + index,), 900, 900, 0, 0, 0, 0, 0)
            journal.write(TurnTaken("case", 0, index, Turn("onnxruntime", window)))
            journal.write(RoundDone("case", 0, index))
    return tmp_path / "reports"


def test_a_window_that_is_gone_is_counted_and_a_new_one_is_not(tmp_path: Path) -> None:
    before = held(reports(tmp_path, 3))
    assert (before["run"].rounds, len(before["run"].windows)) == (3, 3)
    longer = {"run": Held(4, (*before["run"].windows, before["run"].windows[0]))}
    assert missing(before, longer) == 0
    assert missing(longer, before) == 1
    assert missing(before, {}) == 3
    assert held(tmp_path / "none") == {}

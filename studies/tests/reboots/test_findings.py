"""What is checked of series that are made up, good and bad, and what a record shows."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from studies.commands import read, write
from studies.reboots import system
from studies.reboots.command import PLAN, analyse, main, orders
from studies.reboots.record import Boot, Case, Level, Record, Series, find, markdown
from studies.reboots.series import cuts_due

OLD, NEW = system.release(system.OLD), system.release(system.NEW)
RECORDS = sorted((Path(__file__).parents[3] / "reports/trials").glob("reboots-*.json"))


def boot(kernel: str, counted: int, *, cut: bool = False, **changed: Any) -> Boot:
    return msgspec.structs.replace(
        Boot(
            kernel=kernel,
            to_next_s=20,
            next_s=60,
            cut=cut,
            result="" if cut else "success 0",
            said="" if cut else "Next: reboot, 1 more boot on this side.",
            counted=counted,
            run=f"run-{counted}",
            side="new" if kernel == NEW else "old",
            rounds_announced=1,
            rounds_on_disk=2,
            windows_on_disk=4,
        ),
        **changed,
    )


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
    found = holds(series("inconclusive", cuts=10))
    assert all(found.values())
    assert len(found) == 7


def test_a_slowdown_must_be_found_and_nothing_else_called_worse() -> None:
    assert not holds(series("inconclusive", slowdown=0.2))["20% under the new kernel is called slower"]
    assert not holds(series("slower"))["nothing is called worse"]


def test_a_lost_window_a_late_journal_and_a_wrong_side_are_seen() -> None:
    assert not holds(series(cuts=10, lost=1))["no window that was on the disk is lost"]
    assert not holds(series(cuts=9))["the power was cut 10 times or more"]
    good = series(cuts=10)
    early = boot(OLD, 1, cut=True, rounds_announced=3)
    late = msgspec.structs.replace(good, boots=(*good.boots[:3], early, good.boots[-1]))
    assert not holds(late)["every round that the console showed was on the disk when the power was cut"]
    stuck = msgspec.structs.replace(good, boots=(*good.boots[:2], boot(OLD, 2, result="exit-code 2"), good.boots[-1]))
    assert not holds(stuck)["it goes on by itself at the next boot"]
    wrong = msgspec.structs.replace(good, boots=(boot(NEW, 6, side="old"), *good.boots[1:]))
    assert not holds(wrong)["every boot that began a run knew its side"]
    assert not holds(msgspec.structs.replace(good, boots=good.boots[:-1]))["6 boots or more count"]


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

"""Boots with real runs of canaries in this interpreter; what a boot shows of itself is told by the test."""

import io
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from levelfield import plan
from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.plan import Plan, Selection
from levelfield.record import files, journal
from levelfield.record.journal import TurnTaken
from levelfield.record.page import NAME as REPORT
from levelfield.report import html
from levelfield.run import bench
from levelfield.run.options import Options
from levelfield.run.upgrade import measure, store
from levelfield.run.upgrade.measure import Seen
from levelfield.run.upgrade.progress import Begun, Phase, State
from levelfield.schedule import roofline
from levelfield.schedule.outcomes import utc_now
from levelfield.share import statement
from tests import canaries
from tests.commands import eventually
from tests.run.upgrade.journals import MACHINE, NEW, OLD


class Machine:
    """A machine under test: its boots and stacks are told, its runs are real."""

    def __init__(self, reports: Path) -> None:
        self.reports = reports
        self.number = 1
        self.identity, self.hardware = OLD, MACHINE
        self.clock: Callable[[], str] = utc_now
        self.out = ""

    def see(self, _: Sequence[int]) -> Seen:
        return Seen(f"boot-{self.number}", self.identity, self.hardware, self.clock())

    def begin(self, name: str = "up", **options: object) -> State:
        arguments: dict[str, object] = {"boots": 1} | options
        chosen = Options(selection=Selection(profile="smoke"), reports=self.reports, launcher="host")
        return measure.begin(name, chosen, Console(quiet=True), see=self.see, **arguments)  # type: ignore[arg-type]  # by name

    def next(self, name: str = "up") -> State:
        stream = io.StringIO()
        console = Console(file=stream, width=200)
        try:
            return measure.advance(name, self.reports, console, see=self.see)
        finally:
            self.out = stream.getvalue()

    def reboot(self, identity: dict[str, str] | None = None) -> None:
        self.number += 1
        self.identity = identity or self.identity

    def refuses(self, says: str, fix: str = "") -> None:
        """Check that `next` measures and counts nothing, and says why in one sentence."""
        path = store.folder("up", self.reports) / files.JOURNAL
        before = path.read_bytes(), sorted(self.reports.glob("*-smoke-*"))
        with pytest.raises(LevelfieldError, match=says) as caught:
            self.next()
        assert fix in caught.value.fix
        assert caught.value.fix
        assert (path.read_bytes(), sorted(self.reports.glob("*-smoke-*"))) == before


@pytest.fixture
def machine(reports: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Let plans be of canaries, which need no framework, of one generation; and the probe's arrays be short."""

    def planned(selection: Selection) -> Plan:
        made = canaries.plan("latency")
        blocks = tuple(msgspec.structs.replace(block, planned_generations=1) for block in made.blocks)
        return msgspec.structs.replace(made, blocks=blocks, cpus=tuple(selection.threads) or made.cpus)

    monkeypatch.setattr(plan, "make", planned)
    monkeypatch.setattr(roofline, "SMALLEST_BYTES", 1 << 20)
    monkeypatch.setattr(roofline, "LARGEST_BYTES", 1 << 20)
    with canaries.quickly():
        yield Machine(reports)


def runs(state: State) -> list[str]:
    return [boot.begun.run for boot in state.boots]


def last_line(machine: Machine) -> str:
    return machine.out.strip().splitlines()[-1]


def test_old_new_old_over_boots(machine: Machine) -> None:
    machine.begin()
    machine.next()
    assert last_line(machine).startswith("Next: install the new driver, kernel or")
    assert len(machine.next().boots) == 1
    assert "This boot was measured before" in machine.out
    machine.reboot(NEW)
    machine.next()
    assert last_line(machine) == "Next: go back to the old stack, then reboot: 1 boot there."
    machine.reboot(OLD)
    found = machine.next()
    assert last_line(machine) == f"Done: levelfield upgrade verdict up --reports {machine.reports}"
    assert [boot.phase for boot in found.boots] == list(Phase)
    assert len(set(runs(found))) == 3
    machine.reboot()
    assert machine.next() == found


def _killed_in_a_window(machine: Machine) -> str:
    """Let another process measure, and kill it once a window is on the disk; return its run."""
    child = multiprocessing.get_context("fork").Process(target=machine.next)
    child.start()

    def measuring() -> bool:
        pending = store.load("up", machine.reports).pending
        if pending is None:
            return False
        events = journal.read(machine.reports / pending.run / files.JOURNAL)
        return any(isinstance(event, TurnTaken) for event in events)

    assert eventually(measuring)
    os.kill(child.pid or 0, signal.SIGKILL)
    child.join()
    pending = store.load("up", machine.reports).pending
    assert pending is not None
    return pending.run


def test_a_run_that_ended_before_it_was_counted_is_counted_once(machine: Machine) -> None:
    machine.begin()
    first = machine.next()
    path = store.folder("up", machine.reports) / files.JOURNAL
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    machine.reboot()
    assert runs(machine.next()) == runs(first)
    machine.reboot()
    assert runs(machine.next()) == runs(first)


def test_a_run_elsewhere_is_neither_counted_nor_written(machine: Machine, tmp_path: Path) -> None:
    machine.begin()
    run = machine.reports / runs(machine.next())[0]
    outside = run.rename(tmp_path / "outside")
    (outside / statement.SIGNATURE).write_text("a signature")
    run.symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    machine.refuses("is a link, and no run's own folder")
    path = store.folder("up", machine.reports) / files.JOURNAL
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    machine.refuses("is a link, and no run's own folder")
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    assert "its record is gone" not in "".join(store.lines(store.load("up", machine.reports), machine.reports))


def test_another_machine_is_refused(machine: Machine) -> None:
    machine.begin()
    machine.hardware = {"cpu model": "another CPU"}
    machine.refuses("not the machine on which the upgrade up was begun.*a CPU became another CPU", "on that machine")


def test_a_clock_that_is_set_back_while_images_are_made_is_refused(machine: Machine) -> None:
    machine.clock = lambda: "2099-01-01T00:00:00Z"
    machine.begin()
    machine.refuses("clock says 20.*an event of 2099-01-01T00:00:00Z", "timedatectl")


def _rewritten(machine: Machine, **changes: object) -> None:
    """Let the upgrade have been declared otherwise."""
    path = store.folder("up", machine.reports) / files.JOURNAL
    first, *rest = path.read_bytes().splitlines(keepends=True)
    begun = msgspec.structs.replace(msgspec.json.decode(first, type=Begun), **changes)
    path.unlink()
    store.create(begun, machine.reports)
    with path.open("ab") as written:
        written.writelines(rest)


def test_a_changed_plan_is_refused(machine: Machine) -> None:
    state = machine.begin()
    planned = state.begun.plans[0]
    _rewritten(machine, plans=(msgspec.structs.replace(planned, cpus=(7,)),))
    machine.refuses("would be measured otherwise than the upgrade up was planned: on CPUs", "--threads")
    _rewritten(machine, plans=(msgspec.structs.replace(planned, results=(*planned.results, "a/b")),))
    machine.refuses("was planned: without a/b", "--backends")


def test_a_run_that_was_killed_goes_on_in_its_boot_and_never_by_hand(machine: Machine) -> None:
    machine.begin()
    run = _killed_in_a_window(machine)
    with pytest.raises(LevelfieldError, match=f"The run '{run}' measures one boot of an upgrade") as caught:
        bench.find(run, machine.reports)
    assert "`levelfield upgrade next`" in caught.value.fix
    path = machine.reports / run / files.JOURNAL
    content = path.read_bytes()
    for was, now in ((b'"launcher":"host"', b'"launcher":"venv"'), (b'"next","up"', b'"next","other"')):
        assert was in content
        path.write_bytes(content.replace(was, now, 1))
        machine.refuses("is not of the upgrade up", "from a copy")
    path.write_bytes(content)
    assert runs(machine.next()) == [run]
    assert files.read(machine.reports / run).resumed
    with pytest.raises(LevelfieldError, match="is finished"):
        bench.find(run, machine.reports)


def test_a_run_that_was_changed_or_deleted_is_refused(machine: Machine) -> None:
    machine.begin(boots=2)
    record = machine.reports / runs(machine.next())[0] / REPORT
    machine.reboot()
    content = record.read_bytes()
    other = msgspec.structs.replace(files.read(record), tool_version="9")
    record.write_text(html.render(other, analyse(other)))
    machine.refuses("was changed since the upgrade up counted it", "from a copy")
    record.unlink()
    machine.refuses("which the upgrade up counts, is not in", "from a copy")
    record.write_bytes(content)
    assert len(machine.next().boots) == 2

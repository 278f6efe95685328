"""One upgrade over real boots: the harness does what an operator does, and cuts the power at random moments."""

import math
import random
import re
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from levelfield.analysis.launch_levels import launch_levels
from levelfield.compare.upgrade import judge
from levelfield.errors import LevelfieldError
from levelfield.record import files, journal
from levelfield.record.files import JOURNAL
from levelfield.record.journal import RoundDone, TurnTaken
from levelfield.run.upgrade import store
from levelfield.run.upgrade.progress import MeasurementBegun, Phase, State
from studies.reboots import machine, system
from studies.reboots.record import Boot, Case, Level, Series


class Held(msgspec.Struct, frozen=True):
    """What the journal of one run holds."""

    rounds: int
    windows: tuple[TurnTaken, ...]


NAME = "kernel"
"""Of the upgrade, in the guest."""
_HOME = "/var/lib/levelfield"
_ROUND = re.compile(r"\s*round \d+ of \d+")
PATIENCE = 3
"""Boots of one kernel that may end without being counted, before the trial gives up."""


class Order(msgspec.Struct, frozen=True):
    """What a series is to be."""

    name: str
    boots: int
    """In each phase."""
    plan: str
    slowdown: float = 0.0
    cuts: int = 0
    seed: int = 0
    one_way: bool = False

    @property
    def words(self) -> str:
        """Options of `levelfield upgrade begin`."""
        return f"{self.plan} --boots {self.boots}{' --one-way' if self.one_way else ''}"

    @property
    def total(self) -> int:
        """Boots that will count."""
        return self.boots * (2 if self.one_way else 3)


class _Situation(msgspec.Struct, frozen=True):
    """Where the upgrade stands after a boot, read from the disk of a machine that is off."""

    reports: Path
    state: State | None
    held: dict[str, Held]


def run(order: Order, image: Path, kernels: Path, work: Path, say: Callable[[str], None]) -> Series:
    """Make all boots of an upgrade, and ask for its verdict."""
    began = time.monotonic()
    machine.put(image, f"{order.words}\n", f"{_HOME}/plan")
    if order.slowdown:
        machine.put(image, f"{system.release(system.NEW)} {order.slowdown}\n", "/etc/levelfield/slowdown")
    boots: list[Boot] = []
    snapshots: list[dict[str, Held]] = []
    last: dict[str, Held] = {}
    """What the journals held at the last cut of each run."""
    now = _Situation(work, None, {})
    for boot, now in _boots(order, image, kernels, work):
        boots.append(boot)
        if boot.cut:
            snapshots.append(now.held)
            last |= now.held
        how = "power cut" if boot.cut else boot.said
        say(f"{order.name}, boot {len(boots)}, {boot.kernel}, {boot.to_next_s:.0f} + {boot.next_s:.0f} s: {how}")
    if now.state is None:
        raise LevelfieldError("The upgrade was not begun.", fix=f"See the consoles in {work}.")
    lost = sum(missing(each, now.held) for each in snapshots)
    kept = sum(len(each.windows) for each in last.values()) - lost
    judged = judge(now.state.design, store.load_phases(now.state, now.reports))
    return Series(
        name=order.name,
        slowdown=order.slowdown,
        boots=tuple(boots),
        levels=tuple(_levels(now)),
        windows_kept=kept,
        windows_lost=lost,
        answer=judged.answer,
        cases=tuple(
            Case(
                id=row.case.id,
                verdict=str(row.verdict),
                ratio=row.ratio.value if row.ratio else None,
                low=row.ratio.low if row.ratio else None,
                high=row.ratio.high if row.ratio else None,
                reason=row.reason,
            )
            for row in judged.rows
        ),
        lost_settings=tuple(f"{each.where} {each.name}" for each in judged.settings if each.meant == "not meant"),
        seconds=time.monotonic() - began,
    )


def _boots(order: Order, image: Path, kernels: Path, work: Path) -> Iterator[tuple[Boot, _Situation]]:
    """Boot what comes next until the upgrade is done."""
    moments = random.Random(order.seed)  # noqa: S311 (moments of cuts)
    now = _Situation(work, None, {})
    cuts, longest_s, idle, number = 0, 0.0, 0, 0
    while now.state is None or now.state.phase is not None:
        number += 1
        phase = now.state.phase if now.state is not None else Phase.BEFORE
        release = system.release(system.NEW if phase is Phase.NEW else system.OLD)
        counted = _counted(now.state)
        due = cuts < cuts_due(order, counted)
        moment_s = moments.uniform(0, longest_s) if due else None
        boot, now = _boot(release, image, kernels, work / f"{order.name}-{number}", now, moment_s)
        cuts += boot.cut
        longest_s = max(longest_s, 0.0 if boot.cut else boot.next_s)
        idle = 0 if boot.cut or boot.counted > counted else idle + 1
        if idle >= PATIENCE:
            raise LevelfieldError(
                f"{PATIENCE} boots of {release} were not counted: {boot.said or boot.result}", fix=f"See {work}."
            )
        yield boot, now


def cuts_due(order: Order, counted: int) -> int:
    """Return how often the power is to be cut before the next boot that is left alone.

    The first boot is left alone, since it shows how long one takes; the cuts are spread evenly over the others.
    """
    return math.ceil(order.cuts * counted / (order.total - 1))


def _counted(state: State | None) -> int:
    return len(state.boots) if state is not None else 0


def _boot(
    release: str, image: Path, kernels: Path, work: Path, before: _Situation, moment_s: float | None
) -> tuple[Boot, _Situation]:
    """Boot once; where a moment is given, the power is cut so long after `next` began, unless the machine is off."""
    work.mkdir(parents=True, exist_ok=True)
    with machine.boot(image, kernels, release, work / "console") as running:
        if not running.wait_for(machine.BEGINS):
            raise LevelfieldError("The guest went off before `upgrade next` began.", fix=f"See {work / 'console'}.")
        to_next_s = running.seconds
        cut = moment_s is not None and not running.wait(moment_s)
        if cut:
            running.cut()
        else:
            running.wait()
        seconds = running.seconds
        console = running.text()
    now = _situation(image, work)
    told = machine.lines(console)
    run = max(set(now.held) - set(before.held), default="")
    """That this boot began; empty: none."""
    begun = {each.run: each for each in _begun(now.state)}
    boot = Boot(
        kernel=release,
        to_next_s=to_next_s,
        next_s=seconds - to_next_s,
        cut=cut,
        result=machine.result(console),
        said="" if cut or not told else told[-1],
        counted=_counted(now.state),
        run=run,
        side=begun[run].side if run in begun else "",
        rounds_announced=sum(bool(_ROUND.match(each)) for each in told),
        rounds_on_disk=now.held[run].rounds if run else 0,
        windows_on_disk=len(now.held[run].windows) if run else 0,
    )
    return boot, now


def _situation(image: Path, work: Path) -> _Situation:
    machine.replay(image)
    shutil.rmtree(work / "reports", ignore_errors=True)
    reports = machine.take(image, f"{_HOME}/reports", work)
    state = store.load(NAME, reports) if NAME in store.names(reports) else None
    return _Situation(reports, state, held(reports))


def _begun(state: State | None) -> Iterator[MeasurementBegun]:
    if state is not None:
        yield from (boot.begun for boot in state.boots)
        yield from state.left
        if state.pending is not None:
            yield state.pending


def _levels(now: _Situation) -> Iterator[Level]:
    for boot in now.state.boots if now.state is not None else ():
        run = files.read(store.record_of(boot, now.reports))
        values = [ns for block in run.blocks for each in launch_levels(block).values() for ns in each.values()]
        release = str(run.machine["kernel"]["release"])
        yield Level(str(boot.phase), boot.begun.run, release, statistics.geometric_mean(values))


def held(reports: Path) -> dict[str, Held]:
    """Return what the journals under a reports folder hold, by run."""
    found = {}
    for path in sorted(reports.glob(f"*/{JOURNAL}")):
        events = journal.read(path)
        windows = tuple(each for each in events if isinstance(each, TurnTaken) and each.turn.window is not None)
        found[path.parent.name] = Held(sum(isinstance(each, RoundDone) for each in events), windows)
    return found


def missing(before: dict[str, Held], after: dict[str, Held]) -> int:
    """Count windows that were there before, and are not there after."""
    return sum(sum((_windows(one) - _windows(after.get(run, Held(0, ())))).values()) for run, one in before.items())


def _windows(one: Held) -> Counter[bytes]:
    return Counter(map(msgspec.json.encode, one.windows))

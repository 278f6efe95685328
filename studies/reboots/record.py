"""The record of the reboot trial: what happened in every boot, and what `levelfield upgrade` said in the end."""

import statistics
from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from levelfield.report import units
from levelfield.report.tables import markdown as table
from levelfield.report.units import interval
from studies.commands import MachineRecord
from studies.reboots import system


class Boot(msgspec.Struct, frozen=True):
    """One boot of the guest."""

    kernel: str
    """Release that was started, chosen by what the upgrade said comes next."""
    to_next_s: float
    """From power on until `upgrade next` began."""
    next_s: float
    """From then until the machine was off, or its power was cut."""
    cut: bool
    result: str
    """How the unit ended: systemd's result and exit status; empty where the power was cut."""
    said: str
    """The last sentence of `upgrade next`; empty where the power was cut."""
    counted: int
    """Boots that the upgrade counts after this one."""
    run: str
    """Run that was measured, or cut; empty where the power was cut before there was one."""
    side: str
    """What `upgrade next` took this boot for: `old` or `new`; empty like `run`."""
    rounds_announced: int = 0
    """Rounds that the console showed as ended."""
    rounds_on_disk: int = 0
    """Rounds that the run's journal on the disk holds after this boot."""
    windows_on_disk: int = 0
    """The same of windows."""


class Level(msgspec.Struct, frozen=True):
    """What a boot that counts measured."""

    phase: str
    run: str
    kernel: str
    call_ns: float
    """Geometric mean over launches of the median call."""


class Case(msgspec.Struct, frozen=True):
    """The verdict on one case."""

    id: str
    verdict: str
    ratio: float | None
    """New / old."""
    low: float | None
    high: float | None
    reason: str


class Series(msgspec.Struct, frozen=True):
    """One upgrade from its beginning to its verdict."""

    name: str
    slowdown: float
    """By which calls are made longer under the new kernel; 0.2 is 20 %."""
    boots: tuple[Boot, ...]
    levels: tuple[Level, ...]
    windows_kept: int
    """Windows that were on the disk when the power was cut, and are there in the end."""
    windows_lost: int
    """And are not."""
    answer: str
    cases: tuple[Case, ...]
    lost_settings: tuple[str, ...]
    """Settings that differ and that nobody meant to change."""
    seconds: float


class Finding(msgspec.Struct, frozen=True):
    """One of the statements that the trial was made to check."""

    statement: str
    holds: bool
    seen: str


class Record(MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "reboots"

    finished: str
    seed: int
    boots_each: int
    plan: str
    """Options of `levelfield upgrade begin`."""
    emulator: str
    packages: dict[str, str]
    """Kernels and their versions."""
    host_call_ns: float | None = None
    """A call on the machine that emulates, in records of earlier versions."""
    series: tuple[Series, ...] = ()
    findings: tuple[Finding, ...] = ()


WORSE = frozenset({"slower", "hungrier", "answers moved"})
LEAST_BOOTS, LEAST_CUTS = 6, 10


def find(series: Sequence[Series]) -> tuple[Finding, ...]:
    """Check every statement that the series made so far allow."""
    return tuple(_find(series))


def _find(series: Sequence[Series]) -> Iterator[Finding]:
    for each in series:
        counted = each.boots[-1].counted
        yield Finding(
            f"{each.name}: {LEAST_BOOTS} boots or more count",
            counted >= LEAST_BOOTS,
            f"{counted} of {len(each.boots)} boots count",
        )
        told = [boot for boot in each.boots if boot.side]
        new = system.release(system.NEW)
        right = sum(boot.side == ("new" if boot.kernel == new else "old") for boot in told)
        yield Finding(
            f"{each.name}: every boot that began a run knew its side", right == len(told), f"{right} of {len(told)}"
        )
        verdicts = [case.verdict for case in each.cases]
        said = ", ".join(verdicts)
        if each.slowdown:
            found = bool(verdicts) and all(verdict == "slower" for verdict in verdicts)
            yield Finding(f"{each.name}: {each.slowdown:.0%} under the new kernel is called slower", found, said)
        else:
            yield Finding(f"{each.name}: nothing is called worse", not WORSE & set(verdicts), said)
    cut = [each for each in series if any(boot.cut for boot in each.boots)]
    if cut:
        yield from _of_cuts(cut)


def _of_cuts(series: Sequence[Series]) -> Iterator[Finding]:
    cut = [boot for each in series for boot in each.boots if boot.cut]
    yield Finding(f"the power was cut {LEAST_CUTS} times or more", len(cut) >= LEAST_CUTS, f"{len(cut)} times")
    lost, kept = sum(each.windows_lost for each in series), sum(each.windows_kept for each in series)
    yield Finding("no window that was on the disk is lost", lost == 0, f"{lost} lost, {kept} kept")
    ended, held = sum(boot.rounds_announced for boot in cut), sum(boot.rounds_on_disk for boot in cut)
    behind = sum(boot.rounds_announced > boot.rounds_on_disk for boot in cut)
    yield Finding(
        "every round that the console showed was on the disk when the power was cut",
        behind == 0,
        f"{ended} shown, {held} on the disk",
    )
    after = [boots[i + 1] for each in series for boots in [each.boots] for i in range(len(boots) - 1) if boots[i].cut]
    gone_on = sum(boot.cut or boot.result.startswith("success") for boot in after)
    yield Finding("it goes on by itself at the next boot", gone_on == len(after), f"{gone_on} of {len(after)}")


def markdown(record: Record) -> str:
    """Return the findings and the boots as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    kernels = " and ".join(f"`{name}` {version}" for name, version in record.packages.items())
    yield f"# `levelfield upgrade` over real reboots, {record.started[:10]}"
    yield ""
    yield (
        f"A Debian guest in {record.emulator}, in software emulation, boots {kernels}. Each phase has "
        f"{units.plural(record.boots_each, 'boot')}; the options are `{record.plan}`; seed {record.seed}."
    )
    yield ""
    yield from table(
        ("checked", "holds", "seen"),
        ((each.statement, "yes" if each.holds else "**no**", each.seen) for each in record.findings),
    )
    for series in record.series:
        yield ""
        yield from _series(series, record.host_call_ns)


def _series(series: Series, host_call_ns: float | None) -> Iterator[str]:
    slowdown = f"{series.slowdown:.0%} slower under the new kernel" if series.slowdown else "no slowdown"
    yield f"## {series.name}: {slowdown}"
    yield ""
    yield f"{series.answer}"
    yield ""
    yield from table(
        ("case", "new / old", "verdict", "reason"),
        (
            (case.id, interval(case.ratio, case.low, case.high, "{:.3f}".format), case.verdict, case.reason)
            for case in series.cases
        ),
    )
    if series.lost_settings:
        yield ""
        yield f"Settings that differ and were not meant to: {', '.join(series.lost_settings)}."
    yield ""
    yield from table(
        ("boot", "kernel", "to `next`", "`next`", "ended", "side", "rounds", "counted", "it said"),
        ((str(number), *_boot(boot)) for number, boot in enumerate(series.boots, start=1)),
    )
    yield ""
    levels = ", ".join(f"{each.phase} {units.time(each.call_ns)}" for each in series.levels)
    yield f"Median call, by boot: {levels}."
    whole = [boot for boot in series.boots if not boot.cut]
    yield (
        f"Median of the boots that were left alone: {statistics.median(boot.to_next_s for boot in whole):.0f} s until "
        f"`next` begins, {statistics.median(boot.next_s for boot in whole):.0f} s until the machine is off; "
        f"{units.duration(series.seconds)} in all."
    )
    if host_call_ns and series.levels:
        factor = statistics.median(each.call_ns for each in series.levels) / host_call_ns
        yield f"A call takes about {factor:.0f} times as long as on the machine that emulates."


def _boot(boot: Boot) -> tuple[str, ...]:
    return (
        boot.kernel,
        f"{boot.to_next_s:.0f} s",
        f"{boot.next_s:.0f} s",
        "power cut" if boot.cut else boot.result,
        boot.side or "–",
        f"{boot.rounds_on_disk} on the disk, {boot.rounds_announced} shown",
        str(boot.counted),
        boot.said or "–",
    )

"""The reboot trial as Markdown: what was checked, then every boot."""

import statistics
from collections.abc import Iterator

from studies.reboots.record import Boot, Record, Series
from suite.report import units
from suite.report.markdown import interval, table


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
        yield from _series(series)


def _series(series: Series) -> Iterator[str]:
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

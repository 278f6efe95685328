"""What the reboot trial was made to check, and whether it holds; fixed before anything was measured."""

from collections.abc import Iterator, Sequence

from studies.reboots import system
from studies.reboots.record import Boot, Finding, Series

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
        right = sum(boot.side == _side(boot) for boot in told)
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


def _side(boot: Boot) -> str:
    return "new" if boot.kernel == system.release(system.NEW) else "old"

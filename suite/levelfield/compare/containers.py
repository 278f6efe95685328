"""The cost of a container: two arms of one run that use different launchers, in words, with intervals.

The ratios are those of the comparison, turned so that they give the cost of the arm with more layers between it and the
machine over the other. The additional time of a cold start is given stage by stage in milliseconds: differences of
launches of one generation, with Student's t over generations at 95 %, each stage for itself.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from levelfield.analysis import collect
from levelfield.analysis.environment import text
from levelfield.analysis.estimates import ended_by
from levelfield.analysis.types import Estimate
from levelfield.analysis.whole_launch import total_ns
from levelfield.compare import phrases
from levelfield.compare.types import Change, ChangeGroup, Row, Verdict
from levelfield.images.catalogue import stem
from levelfield.record.schema import Absent, Arm, Block, Image, Run, Startup
from levelfield.report import names, units
from levelfield.report.sentences import join
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy, mean_of

CONFIDENCE = 0.95
_FURTHEST_FIRST = ("docker", "venv", "host")
_WHERE = {
    "docker": "in a container",
    "venv": "in a virtual environment of the same lock",
    "host": "in the current interpreter, with what is installed there",
}
_NAMES = {"docker": "the container", "venv": "the virtual environment", "host": "the current interpreter"}
_FEW = f"fewer than {MIN_LAUNCHES} launches, so no interval"
_NO_COST = {Verdict.UNEQUAL, Verdict.RECOVERED, Verdict.FAILED}
_STAGES: tuple[tuple[str, Callable[[Startup], int | Absent]], ...] = (
    ("in all", total_ns),
    ("start", lambda startup: startup.start_ns),
    ("import", lambda startup: startup.import_ns),
    ("load", lambda startup: startup.load_ns),
    ("first call", lambda startup: startup.first_call_ns),
)


class _Sides(msgspec.Struct, frozen=True):
    """The two arms, by how far they are from the machine."""

    outer: Arm
    inner: Arm
    outer_launcher: str
    inner_launcher: str
    turned: bool
    """The comparison's ratios are inner over outer."""


def _sides(run: Run, old: Arm, new: Arm) -> _Sides | None:
    """Return which arm has more layers between it and the machine; None where both have the same launcher."""
    own = run.settings.launcher
    first, second = (arm.launcher or own for arm in (old, new))
    if first == second:
        return None
    if _FURTHEST_FIRST.index(second) < _FURTHEST_FIRST.index(first):
        return _Sides(new, old, second, first, turned=False)
    return _Sides(old, new, first, second, turned=True)


def notes(run: Run, old: Arm, new: Arm, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the cost of one launcher over the other; nothing where both arms have the same one."""
    sides = _sides(run, old, new)
    if sides is None:
        return ()
    where = f"{sides.outer.id} ran {_WHERE[sides.outer_launcher]}, {sides.inner.id} {_WHERE[sides.inner_launcher]}."
    other = _other_differences(run, sides)
    if other:
        return (
            f"{where} They differ in more than that ({other}): what the launcher costs cannot be separated from that.",
        )
    costs = (*_costs(run, sides, rows), *_cold_starts(run, sides))
    return (where, *costs) if costs else (f"{where} What that costs was not measured.",)


def _other_differences(run: Run, sides: _Sides) -> str:
    """Return in what the arms differ beside the launcher."""
    alike = msgspec.structs.replace(sides.inner, ordinal=sides.outer.ordinal, launcher=sides.outer.launcher)
    if alike != sides.outer:
        return "backend, version, settings or an injected slowdown"
    versions = {
        arm.id: sorted(
            {
                launch.framework_version
                for block in run.blocks
                for _, launch in collect.launches(block, arm.id)
                if launch.framework_version
            }
        )
        for arm in (sides.outer, sides.inner)
    }
    if all(versions.values()) and versions[sides.outer.id] != versions[sides.inner.id]:
        first, second = (join(versions[arm.id]) for arm in (sides.outer, sides.inner))
        return f"version {first} and {second}"
    return ""


def _costs(run: Run, sides: _Sides, rows: Sequence[Row]) -> Iterator[str]:
    """Yield one sentence for each scenario: the cost for every model."""
    rows_by_case = {row.case.id: row for row in rows}
    several = len({block.case.threads for block in run.blocks}) > 1
    costs: dict[str, list[str]] = {}
    for block in run.blocks:
        row = rows_by_case.get(block.case.id)
        if row is not None and row.ratio is not None and row.verdict not in _NO_COST:
            cost = _percents(row.ratio, turned=sides.turned)
            costs.setdefault(phrases.metric(row.metric), []).append(f"{_case(block, threads=several)} {cost}")
    for metric, of_cases in costs.items():
        by_case = "; ".join(of_cases)
        yield f"What {_NAMES[sides.outer_launcher]} costs in {metric}, over {_NAMES[sides.inner_launcher]}: {by_case}."


def _case(block: Block, *, threads: bool) -> str:
    case = block.case
    parts = [phrases.clean(names.network(case), 60)]
    parts += [f"batch {case.batch}"] if case.per_item else []
    parts += [phrases.clean(case.precision, 40)] if case.precision != "fp32" else []
    parts += [units.plural(case.threads, "thread")] if threads else []
    return ", ".join(parts)


def _percents(ratio: Estimate, *, turned: bool) -> str:
    """`+1.2 % (+0.4 % to +2.0 %)` of a ratio of costs."""
    found = ratio.inverse if turned else ratio
    value, low, high = found.value, found.low, found.high
    text = units.percent(value - 1, signed=True)
    if low is None or high is None:
        return f"{text} ({_FEW})"
    return f"{text} ({units.percent(low - 1, signed=True)} to {units.percent(high - 1, signed=True)})"


def _cold_starts(run: Run, sides: _Sides) -> Iterator[str]:
    """Yield one sentence for each block of cold starts: how much longer each stage takes."""
    several = len({block.case.threads for block in run.blocks}) > 1
    for block in run.blocks:
        if block.case.definition.sample != "cold start":
            continue
        ended = ended_by(run.settings, block.case)
        stages = {name: added(block, sides.outer, sides.inner, stage, ended=ended) for name, stage in _STAGES}
        known = {name: found for name, found in stages.items() if found is not None}
        if known:
            few = "" if any(found.low is not None for found in known.values()) else f" ({_FEW})"
            times = ", ".join(f"{name} {_milliseconds(found)}" for name, found in known.items())
            case = _case(block, threads=several)
            yield f"What {_NAMES[sides.outer_launcher]} adds to a cold start of {case}: {times}{few}."


def added(
    block: Block, outer: Arm, inner: Arm, stage: Callable[[Startup], int | Absent], *, ended: EndedBy = EndedBy.PLAN
) -> Estimate | None:
    """Return how much longer a stage takes in one arm than in the other, nanoseconds; None where it was not timed.

    `stage`: returns the duration of the stage in a launch, in nanoseconds, or absent.
    """
    first, second = (_stages(block, arm, stage) for arm in (outer, inner))
    differences = np.array([first[index] - second[index] for index in sorted(first.keys() & second.keys())])
    if not differences.size:
        return None
    mean = mean_of(differences, ended)
    if mean.launches < MIN_LAUNCHES:
        return Estimate(mean.value)
    half = mean.half_width(CONFIDENCE)
    return Estimate(mean.value, mean.value - half, mean.value + half)


def _stages(block: Block, arm: Arm, stage: Callable[[Startup], int | Absent]) -> dict[int, float]:
    found = {}
    for generation, launch in collect.launches(block, arm.id):
        if launch.startup is not None and launch.failure is None:
            value = stage(launch.startup)
            if not isinstance(value, Absent):
                found[generation.index] = float(value)
    return found


def _milliseconds(found: Estimate) -> str:
    """`+412 ms (+398 to +426)`: all three with as many decimals as the largest deserves."""
    values = [found.value, *(edge for edge in (found.low, found.high) if edge is not None)]
    decimals = min(2, units.decimals_of(max(map(abs, values)) / 1e6))
    value, *edges = (_signed(each / 1e6, decimals) for each in values)
    inside = f" ({' to '.join(edges)})" if edges else ""
    return f"{value}{units.NBSP}ms{inside}"


def _signed(value: float, decimals: int) -> str:
    plain = units.fixed(value, decimals)
    if float(f"{value:.{decimals}f}") == 0:
        return plain.removeprefix(units.MINUS)
    return f"+{plain}" if value > 0 else plain


def compare_launchers(run: Run, old: Arm, new: Arm) -> tuple[ChangeGroup, ...]:
    """Compare the environments of two arms' workers, as far as the record holds them.

    Returns one group, with changed facts first; empty where both arms have the same launcher.
    """
    if _sides(run, old, new) is None:
        return ()
    before, after = (_facts(run, arm) for arm in (old, new))
    found = [
        Change(name=name, old=before[name], new=after[name], state="same" if before[name] == after[name] else "changed")
        for name in before
    ]
    found.sort(key=lambda one: one.state == "same")
    return (ChangeGroup(title="Where workers ran", changes=tuple(found)),)


def _facts(run: Run, arm: Arm) -> dict[str, str]:
    launcher = arm.launcher or run.settings.launcher
    image = _image(run, arm, launcher)
    system = run.machine.get("system", {})
    python = (image.python if image is not None else "") or "not known"
    shown = {"launcher": launcher, "Python": python}
    if launcher == "docker":
        limit = run.settings.worker_memory_bytes
        return shown | {
            "system": f"the image's: {image.base}" if image is not None and image.base else "the image's",
            "C library": "the image's",
            "memory limit": "not known" if limit is None else units.size(limit).replace(units.NBSP, " "),
            "root file system": "the image's layers, read-only",
            "temporary files": "in memory",
            "network": "none",
        }
    return shown | {
        "system": text(system.get("distribution")),
        "C library": text(system.get("C library")),
        "memory limit": "none of its own",
        **dict.fromkeys(("root file system", "temporary files", "network"), "this machine's"),
    }


def _image(run: Run, arm: Arm, launcher: str) -> Image | None:
    key = launcher, arm.image, stem(arm.variant, arm.version)
    return next((each for each in run.images if (each.launcher, each.name, each.variant) == key), None)

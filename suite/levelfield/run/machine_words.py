"""What `levelfield doctor --measure` found, in sentences."""

from collections.abc import Iterator

from levelfield.record.states import CALM_ARITHMETIC, LEAST_SHARE
from levelfield.report import units
from levelfield.run.machine_check import DECIDED_S, MachineMeasured


def in_words(found: MachineMeasured) -> tuple[str, ...]:
    """Return what was found as sentences: levels, states, and the smallest difference."""
    return (_levels(found), _states(found), _noise(found), _smallest(found), *_kept(found))


def _levels(found: MachineMeasured) -> str:
    low = found.levels
    return (
        f"Low mode of {units.count(found.probes)} probes: arithmetic {units.time(low.arithmetic_ns)}, memory "
        f"{units.time(low.memory_ns)}, fresh pages {units.time(low.pages_ns)}."
    )


def _states(found: MachineMeasured) -> str:
    match found.knowledge:
        case "contended throughout":
            return (
                f"Contended throughout: {units.percent(found.levels.low_share)} of the probes lie within "
                f"{units.percent(CALM_ARITHMETIC - 1)} of the low mode, and {units.percent(LEAST_SHARE)} are needed."
            )
        case "one state seen":
            return "One state seen: whether the machine was calm is not known until another one is seen."
        case "two states seen":
            lengths = [
                f"{name} for {seconds:.1f} s on average"
                for name, seconds in (("calm", found.calm_s), ("contended", found.contended_s))
                if seconds is not None
            ]
            busy = (
                f"; when it is not, arithmetic takes {found.contended_arithmetic:.2f}× as long"
                if found.contended_arithmetic is not None
                else ""
            )
            stay = f" It stays {', '.join(lengths)}." if lengths else ""
            return f"Calm {units.percent(found.calm_share)} of the time{busy}.{stay}"


def _noise(found: MachineMeasured) -> str:
    if found.split is None or found.ratio is None:
        times = units.plural(found.launches, "time")
        return f"Identical programs were launched {times} each: too few to show how far they scatter."
    split = found.split
    return (
        f"Identical NumPy programs, {units.plural(found.launches, 'launch', 'launches')} each: their ratio is "
        f"{units.times(found.ratio)}, where the truth is 1. Launches scatter by {units.percent(split.launch_sd)} and "
        f"windows of a launch by {units.percent(split.window_sd)}."
    )


def _smallest(found: MachineMeasured) -> str:
    if found.smallest is None:
        return "The smallest difference that six minutes decide is not known: give it more time."
    minutes = DECIDED_S / 60
    return (
        f"The smallest difference that {minutes:.0f} minutes of two such programs decide here: "
        f"{units.percent(found.smallest)} ({found.smallest_launches} launches of each, found in 95 % of cases at 95 % "
        "confidence; computed from this scatter). Frameworks load longer, so that a run has fewer launches of them."
    )


def _kept(found: MachineMeasured) -> Iterator[str]:
    if found.kept:
        yield "Runs of the next month on this machine know its low mode from this measurement."

"""What a run's wall-clock time was spent on, and how much of it lies inside windows that count."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from levelfield.analysis.launch_levels import reduce
from levelfield.analysis.whole_launch import total_ns
from levelfield.record.schema import Phase, Run, Startup

COUNTED = "windows that count"
ALONE = "first launches one at a time, for cold starts"
TITLES: Mapping[Phase, str] = MappingProxyType(
    {
        "preparing": "preparing images, weights, files and references",
        "roofline": "measuring the roofline",
        "answering data sets": "answering data sets",
        "loading": "starting and loading workers",
        "verifying": "comparing answers with the reference",
        "timed inputs": "making inputs of the timed calls",
        "warming up": "warm-up windows",
        "waiting": "waiting until all workers are idle",
        "waiting for calm": "probing the state of the machine, and waiting until it was calm",
        "pausing": "pauses between launches of one case",
        "windows": "requests and unrecorded calls before windows",
        "canary windows": "windows of the canary",
        "around windows": "reading signals and writing the journal",
        "probing": "reading memory, libraries and environments of workers",
        "cold starts": "first launches",
        "peak memory": "second launches, which read peak memory",
        "training to a target": "training to a target",
        "LoadGen tests": "tests of MLPerf LoadGen, and windows between them",
        "ending workers": "ending workers",
        "finishing": "reading the machine's state at the end",
        "other": "everything else",
    }
)
"""Each phase in words; of `windows` what is left without the windows themselves, and of `cold starts` what the launches
would have taken side by side."""
LEAST_NAMED = 0.02
"""A smaller share of the time is not named by itself."""


class Part(msgspec.Struct, frozen=True):
    """One thing that time was spent on."""

    what: str
    seconds: float
    share: float
    """Of the whole."""


class TimeSpent(msgspec.Struct, frozen=True):
    """A run's wall-clock time, part by part."""

    seconds: float
    """From the start of its preparation to its end; of a run that was resumed, without the pauses."""
    parts: tuple[Part, ...]
    """They add up to the whole; the longest first."""

    @property
    def counted_share(self) -> float:
        """Share of the time inside windows that count."""
        return sum(part.share for part in self.parts if part.what == COUNTED)


def summarise(run: Run) -> TimeSpent | None:
    """Divide a run's time into parts; None where it was not measured.

    Cold starts are measured from launches that happen anyway: they cost what these take longer one at a time than as
    many at once as there are CPUs.

    A window lasts from its first timed call to the end of its last one. Of those of the arms, windows count that enter
    a figure: not those of disturbed rounds, nor of a launch that was still warming up.
    """
    spent = {name: max(0.0, seconds) for name, seconds in (run.time_spent_s or {}).items()}
    whole = sum(spent.values())
    if not whole:
        return None
    known: dict[Phase, float] = {name: spent.pop(name, 0.0) for name in TITLES}
    known["other"] += sum(spent.values())
    measured = sum(window_ns for _, window_ns in _windows(run)) / 1e9
    counted = sum(window_ns for counts, window_ns in _windows(run) if counts) / 1e9
    # An untrusted record may claim more time inside windows than there was.
    fits = min(1.0, known["windows"] / measured) if measured else 0.0
    known["windows"] -= fits * measured
    alone = min(known["cold starts"], _alone_s(run))
    known["cold starts"] -= alone
    seconds = {TITLES[name]: value for name, value in known.items()} | {
        ALONE: alone,
        COUNTED: fits * counted,
        "windows that do not count": fits * (measured - counted),
    }
    parts = (Part(what, value, value / whole) for what, value in seconds.items() if value > 0)
    return TimeSpent(whole, tuple(sorted(parts, key=lambda part: part.seconds, reverse=True)))


def largest(spent: TimeSpent) -> tuple[Part, ...]:
    """Return the parts of at least `LEAST_NAMED` of the time, and all the others as one."""
    named = tuple(part for part in spent.parts if part.share >= LEAST_NAMED and part.what != TITLES["other"])
    rest = spent.seconds - sum(part.seconds for part in named)
    return (*named, Part(TITLES["other"], rest, rest / spent.seconds)) if len(named) < len(spent.parts) else named


def _alone_s(run: Run) -> float:
    """Return how much longer the launches of cold starts took one at a time than they would have side by side."""
    total_s = 0.0
    for block in run.blocks:
        if block.case.definition.sample != "cold start":
            continue
        for generation in block.generations:
            each_s = [_startup_s(launch.startup) for launch in generation.launches if launch.startup is not None]
            total_s += sum(each_s) - max([sum(each_s) / block.case.threads, *each_s])
    return total_s


def _startup_s(startup: Startup) -> float:
    return (total_ns(startup) + startup.weights_ns) / 1e9


def _windows(run: Run) -> Iterator[tuple[bool, int]]:
    """Yield of each window of an arm whether it counts, and how long it was in nanoseconds."""
    for block in run.blocks:
        if not block.case.timed:
            continue
        found = reduce(block)
        for number, summary in enumerate(found.arms):
            for launch in summary.launches:
                for window in launch.windows:
                    yield found.counts(number, window), window.window_ns

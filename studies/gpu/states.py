"""Whether a GPU has states, and whether a probe of a millisecond sees them.

Two identical workers take turns in random order, as in a run; a third process, this one, times a matrix product and a
copy on the GPU right before and right after each window. `python -m studies.gpu.states --analyse RECORD` forms the
spreads of a record anew. The rule that calls a window calm, `CALM` and `LOW_SHARE`, was fixed before any window was
taken.
"""

import importlib
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from levelfield.machine.fingerprint import fingerprint
from levelfield.record.schema import Absent
from levelfield.schedule.outcomes import end_workers, utc_now
from levelfield.version import __version__
from studies import commands
from studies.gpu import turns
from studies.gpu.clock import event_ns

SIZES = {"cuda": (8192, 1 << 30), "cpu": (256, 1 << 20)}
"""Side of the matrices and bytes of the copy: on an H200 1.4 ms of products in bf16, and 0.5 ms of copying."""
BATCHES = {"resnet50": 32, "mlp": 1}
"""Of each model: bound by the GPU, and by the CPU that calls it."""
LOW_SHARE = 0.25
"""The low mode of a probe is the median of this share of its shortest times."""
CALM = 1.05
"""A window is calm where each probe before and after it took at most so many times its low mode."""
LIMITS = (1.02, CALM, 1.10)
"""Also looked at, to see whether the limit matters."""
_SHOWN = ("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_mw", "throttled")
"""What a window keeps of the device's use."""
_LEAST = 3
"""Fewer windows of an arm in a launch give no level."""


class Probe(msgspec.Struct, frozen=True):
    """Times of fixed work on the GPU."""

    product_ns: int
    copy_ns: int


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """One window, the probes around it, and what NVML said right after it."""

    launch: int
    arm: str
    median_ns: float
    calls: int
    probed_before: Probe
    probed_after: Probe
    sm_clock_mhz: int | Absent
    memory_clock_mhz: int | Absent
    temperature_c: int | Absent
    power_mw: int | Absent
    throttled: tuple[str, ...] | Absent


class Case(msgspec.Struct, frozen=True):
    """All windows of a model, in the order in which they were taken."""

    model: str
    windows: tuple[Window, ...]


class Spread(msgspec.Struct, frozen=True):
    """What a choice of windows scatters by."""

    windows: int
    window_sd: float
    """Standard deviation of log window medians about the mean of their arm in their launch."""
    launch_sd: float
    """Standard deviation of the launches' levels, pooled over the arms."""
    ratio: float
    """Second identical arm over the first: geometric mean over launches."""
    ratio_sd: float
    """Standard deviation of the launches' log ratios; what taking turns leaves."""


class States(commands.Record, frozen=True, kw_only=True):
    """All windows of all cases."""

    TRIAL = "gpu-states"

    started: str
    tool_version: str
    machine: dict[str, dict[str, Any]]
    cases: tuple[Case, ...]


def low_mode(times_ns: Sequence[int]) -> float:
    """Return the typical time of the undisturbed probes.

    Examples
    --------
    >>> low_mode([100, 101, 100, 102, 150, 151, 149, 300])
    100.0
    """
    ordered = sorted(times_ns)
    return float(statistics.median(ordered[: max(1, math.ceil(LOW_SHARE * len(ordered)))]))


def excess(windows: Sequence[Window]) -> list[float]:
    """Return for each window the largest ratio of a probe around it to that probe's low mode."""
    around = [(one.probed_before, one.probed_after) for one in windows]
    product = low_mode([probe.product_ns for both in around for probe in both])
    copy = low_mode([probe.copy_ns for both in around for probe in both])
    return [max(max(probe.product_ns / product, probe.copy_ns / copy) for probe in both) for both in around]


def calm(windows: Sequence[Window], limit: float = CALM) -> list[Window]:
    """Return the windows between calm probes."""
    return [window for window, ratio in zip(windows, excess(windows), strict=True) if ratio <= limit]


_Key = tuple[str, int]
"""Arm and launch."""


def _groups(windows: Sequence[Window], values: Sequence[float]) -> dict[_Key, list[float]]:
    groups: dict[_Key, list[float]] = {}
    for one, value in zip(windows, values, strict=True):
        groups.setdefault((one.arm, one.launch), []).append(value)
    return groups


def spread(windows: Sequence[Window]) -> Spread | None:
    """Return how windows and launches scatter; None where there are fewer than two launches of both arms."""
    groups = _groups(windows, [math.log(one.median_ns) for one in windows])
    groups = {key: values for key, values in groups.items() if len(values) >= _LEAST}
    levels: dict[str, dict[int, float]] = {}
    for (arm, launch), values in groups.items():
        levels.setdefault(arm, {})[launch] = statistics.fmean(values)
    if len(levels) != 2:
        return None
    first, second = (levels[arm] for arm in sorted(levels))
    ratios = [second[launch] - first[launch] for launch in sorted(first.keys() & second.keys())]
    if len(ratios) < 2:
        return None
    inner = [value - statistics.fmean(values) for values in groups.values() for value in values]
    return Spread(
        windows=len(inner),
        window_sd=math.sqrt(sum(value**2 for value in inner) / (len(inner) - len(groups))),
        launch_sd=math.sqrt(statistics.fmean(statistics.variance(list(one.values())) for one in levels.values())),
        ratio=math.exp(statistics.fmean(ratios)),
        ratio_sd=statistics.stdev(ratios),
    )


def correlation(windows: Sequence[Window]) -> float:
    """Return Pearson's correlation of a window with the probes around it, both within their launch and arm, as logs."""
    probes = _centred(windows, [math.log(value) for value in excess(windows)])
    own = _centred(windows, [math.log(one.median_ns) for one in windows])
    scale = math.hypot(*probes) * math.hypot(*own)
    return sum(a * b for a, b in zip(probes, own, strict=True)) / scale if scale else math.nan


def _centred(windows: Sequence[Window], values: Sequence[float]) -> list[float]:
    means = {key: statistics.fmean(group) for key, group in _groups(windows, values).items()}
    return [value - means[one.arm, one.launch] for one, value in zip(windows, values, strict=True)]


def markdown(record: States) -> str:
    """Return the spreads of all cases as a table."""
    lines = [
        "| case | windows | of them | between windows | between launches | A/A | its spread | correlation |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in record.cases:
        text = f"{correlation(case.windows):.2f}" if case.windows else ""
        choices = [("all", case.windows), *((f"probe ≤ {limit:.2f}", calm(case.windows, limit)) for limit in LIMITS)]
        for name, chosen in choices:
            found = spread(chosen)
            lines.append(f"| {' | '.join((case.model, str(len(chosen)), name, *_figures(found), text))} |")
    return "\n".join(lines) + "\n"


def _figures(found: Spread | None) -> tuple[str, ...]:
    if found is None:
        return ("–",) * 4
    window, launch, ratio = (f"{100 * each:.2f} %" for each in (found.window_sd, found.launch_sd, found.ratio_sd))
    return window, launch, f"{found.ratio:.4f}", ratio


class _Prober:
    """Times fixed work on the GPU; on a machine without one, on the CPU, to try this study."""

    def __init__(self) -> None:
        torch: Any = importlib.import_module("torch")
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        side, size = SIZES[self._device]
        self._left = torch.randn(side, side, dtype=torch.bfloat16, device=self._device)
        self._right = torch.randn(side, side, dtype=torch.bfloat16, device=self._device)
        self._product = torch.empty_like(self._left)
        self._source = torch.zeros(size, dtype=torch.uint8, device=self._device)
        self._target = torch.empty_like(self._source)
        for _ in range(3):
            self.probe()

    def probe(self) -> Probe:
        """Wake the GPU with a small product, then time a large one and a copy, by its own events."""
        torch = self._torch
        small = slice(0, self._left.shape[0] // 4)
        torch.mm(self._left[small, small], self._right[small, small])
        product = self._timed(lambda: torch.mm(self._left, self._right, out=self._product))
        copy = self._timed(lambda: self._target.copy_(self._source))
        return Probe(product, copy)

    def _timed(self, work: Callable[[], object]) -> int:
        if self._device == "cpu":
            start_ns = time.perf_counter_ns()
            work()
            return time.perf_counter_ns() - start_ns
        return int(event_ns(work))


def measure(
    model: str, variant: str, launches: int, windows: int, seconds: float, terminal: commands.Terminal
) -> list[Window]:
    """Take the windows of a case; no launch begins after `seconds`."""
    found: list[Window] = []
    begun, prober = time.monotonic(), _Prober()
    with turns.prepared(model, BATCHES[model], ("torch",), terminal, variant=variant, control="torch") as place:
        for number in range(launches):
            if time.monotonic() - begun > seconds:
                break
            terminal.say(f"{model}: launch {number + 1} of {launches}")
            found += _launch(place, prober, number, windows)
    return found


def _launch(place: turns.Place, prober: _Prober, number: int, windows: int) -> list[Window]:
    outcomes = place.launch(place.block.arms[:2])
    order = random.Random(number)  # noqa: S311  (a schedule, not a secret)
    found: list[Window] = []
    try:
        for outcome in (one for _ in range(windows) for one in order.sample(outcomes, len(outcomes))):
            before = prober.probe()
            samples, use = place.window(outcome, outcomes)
            shown = {name: getattr(use, name) for name in _SHOWN}
            probes: dict[str, Any] = {"probed_before": before, "probed_after": prober.probe()}
            median_ns, arm = statistics.median(samples), outcome.launch.arm
            found.append(Window(launch=number, arm=arm, median_ns=median_ns, calls=len(samples), **probes, **shown))
    finally:
        end_workers(outcomes)
    return found


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", default="resnet50,mlp", show_default=True, help="Which of the two cases.")
@click.option("--variant", default="auto", show_default=True, help="cpu tries the study without a GPU.")
@click.option("--launches", type=click.IntRange(1), default=5, show_default=True, help="Launches of both workers.")
@click.option("--windows", type=click.IntRange(2), default=40, show_default=True, help="Windows of each in a launch.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="No launch of a case begins later.")
@commands.out_option
@commands.analyse_option
def main(models: str, out: Path | None, only: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Take windows of identical arms on a GPU with a probe around each, and say what the probe explains."""

    def taken(keep: commands.Keep[States], listener: commands.Terminal) -> States:
        machine = msgspec.to_builtins(fingerprint(()))
        record = States(schema=States.SCHEMA, started=utc_now(), tool_version=__version__, machine=machine, cases=())
        for model in models.split(","):
            try:
                case = Case(model, tuple(measure(model, terminal=listener, **requested)))
            except commands.REFUSED as error:
                listener.fail(f"{model}: {error}")
                continue
            record = msgspec.structs.replace(record, cases=(*record.cases, case))
            keep(record)
        return record

    commands.conduct(States, taken, lambda record: record, markdown, out=out, only=only, indent=0)


if __name__ == "__main__":
    main()

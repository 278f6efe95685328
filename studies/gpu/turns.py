"""What taking turns on one GPU does to an arm: the same worker alone, then beside another, then alone again.

In every launch torch's worker takes windows alone; then JAX's worker is started and both take turns, as in a run; then
JAX's worker is ended and torch's takes windows alone once more. So second-level cache, clocks and allocators are what
differs between the phases of a launch, and nothing of what differs between launches. At the end of the last launch one
long window tells the energy of a call when nothing comes between.
"""

import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from levelfield.launchers.host import HostLauncher
from levelfield.machine.device_use import Device
from levelfield.machine.signals import Signals
from levelfield.record.schema import Absent, Arm, Block, DeviceUse
from levelfield.schedule.launches import rotate
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.resources import RunResources
from levelfield.schedule.rounds import Pace, warm_up
from levelfield.worker.messages import Measure
from studies import commands
from studies.workers import launch, process_ids, take_turn

FIRST, SECOND = "torch", "jax"
WINDOW_NS = 100_000_000
LONG_WINDOW_NS = 4_000_000_000
REWARM_NS = 5_000_000
PACE = Pace(rounds=1, window_ns=WINDOW_NS, min_calls=3, repeats=0)
ALONE, BESIDE, AGAIN = "alone", "taking turns", "alone again"


class Place(NamedTuple):
    """Where workers take turns on one GPU."""

    resources: RunResources
    block: Block
    device: Device
    signals: Signals

    def launch(self, arms: Sequence[Arm]) -> list[Outcome]:
        """Launch workers and warm them up, or end them all."""
        outcomes = launch(self.resources, self.block.case, arms, launch_measured=False)
        try:
            rotate(self.resources, self.block.case, outcomes)
            for outcome in outcomes:
                warm_up(outcome, PACE)
        except BaseException:
            end_workers(outcomes)
            raise
        return outcomes

    def window(
        self, outcome: Outcome, alive: Sequence[Outcome], length_ns: int = WINDOW_NS
    ) -> tuple[Sequence[int], DeviceUse]:
        """Take a window of one of the living workers; return the times of its calls, and what NVML said."""
        pids = process_ids(alive)
        before = self.device.read()
        request = Measure(window_ns=length_ns, min_calls=3, rewarm_ns=REWARM_NS)
        samples = take_turn(outcome, request, self.signals, pids).window.samples_ns
        return samples, self.device.use(before, pids, outcome.launch.arm)


@contextmanager
def prepared(
    model: str,
    batch: int,
    backends: Sequence[str],
    terminal: commands.Terminal,
    *,
    variant: str = "auto",
    control: str = "none",
) -> Iterator[Place]:
    """Prepare workers of a model whose inputs stay on the GPU; variant `cpu` tries a study without one."""
    there = variant != "cpu"
    scenario = "throughput" if batch > 1 else "latency"
    chosen = commands.selection(
        (model,),
        backends,
        control=control,
        scenarios=(f"{scenario}-device" if there else scenario,),
        batches=(batch,) if batch > 1 else (),
        variant=variant,
        gpu="0" if there else None,
        locked=False,
    )
    with (
        commands.prepared(chosen, terminal, HostLauncher()) as (plan, resources),
        Device(plan.gpu or 0) as device,
        Signals(resources.cpus) as signals,
    ):
        yield Place(resources, plan.blocks[0], device, signals)


class Window(msgspec.Struct, frozen=True):
    """One window of torch's worker."""

    phase: str
    median_ns: float
    calls: int
    use: DeviceUse


class Launch(msgspec.Struct, frozen=True):
    """All windows of one launch, in the order in which they were taken."""

    windows: tuple[Window, ...]
    beside_over_alone: float
    """Ratio of the geometric mean of the windows beside another arm to that of both phases alone."""
    again_over_alone: float
    """The same of the second phase alone to the first: what drifts in a launch anyway."""


class Energy(msgspec.Struct, frozen=True):
    """Joules of a call, by NVML's counter."""

    short_windows_j: float | None
    """Over all short windows of the last launch."""
    long_window_j: float | None
    """Over one window of some seconds."""


class Turns(msgspec.Struct, frozen=True):
    """All launches of a model."""

    model: str
    batch: int
    launches: tuple[Launch, ...]
    energy: Energy
    clocks_mhz: dict[str, tuple[int, ...]]
    """SM clocks right after each window, by phase, over all launches."""
    temperatures_c: dict[str, tuple[int, ...]]


def measure(model: str, batch: int, launches: int, windows: int, terminal: commands.Terminal) -> Turns:
    """Take all launches."""
    found: list[Launch] = []
    energy = Energy(None, None)
    with prepared(model, batch, (FIRST, SECOND), terminal) as place:
        for number in range(launches):
            terminal.say(f"{model}: launch {number + 1} of {launches}")
            one, energy = _launch(place, windows, number, long=number + 1 == launches)
            found.append(one)
    return Turns(
        model, batch, tuple(found), energy, _by_phase(found, "sm_clock_mhz"), _by_phase(found, "temperature_c")
    )


def _launch(place: Place, windows: int, seed: int, *, long: bool) -> tuple[Launch, Energy]:
    arms = {arm.backend: arm for arm in place.block.arms}
    taken: list[Window] = []
    outcomes = place.launch([arms[FIRST]])
    try:
        taken += [_window(place, outcomes[0], outcomes, ALONE) for _ in range(windows)]
        outcomes += place.launch([arms[SECOND]])
        order = random.Random(seed)  # noqa: S311  (a schedule, not a secret)
        for _ in range(windows):
            for outcome in order.sample(outcomes, 2):
                window = _window(place, outcome, outcomes, BESIDE)
                taken += [window] if outcome is outcomes[0] else []
        end_workers(outcomes[1:])
        outcomes = outcomes[:1]
        time.sleep(0.5)
        taken += [_window(place, outcomes[0], outcomes, AGAIN) for _ in range(windows)]
        energy = Energy(None, None)
        if long:
            energy = Energy(_joules(taken), _joules([_window(place, outcomes[0], outcomes, AGAIN, LONG_WINDOW_NS)]))
    finally:
        end_workers(outcomes)
    return Launch(tuple(taken), _ratio(taken, (BESIDE,), (ALONE, AGAIN)), _ratio(taken, (AGAIN,), (ALONE,))), energy


def _window(place: Place, outcome: Outcome, alive: Sequence[Outcome], phase: str, length_ns: int = WINDOW_NS) -> Window:
    samples, use = place.window(outcome, alive, length_ns)
    return Window(phase, statistics.median(samples), len(samples), use)


def _joules(windows: Sequence[Window]) -> float | None:
    known = [one for one in windows if not isinstance(one.use.energy_mj, Absent)]
    spent = sum(int(str(one.use.energy_mj)) for one in known)
    return spent / 1e3 / sum(one.calls for one in known) if known else None


def _ratio(windows: Sequence[Window], above: Sequence[str], below: Sequence[str]) -> float:
    def level(phases: Sequence[str]) -> float:
        return statistics.fmean(math.log(one.median_ns) for one in windows if one.phase in phases)

    return math.exp(level(above) - level(below))


def _by_phase(launches: Sequence[Launch], reading: str) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for phase in (ALONE, BESIDE, AGAIN):
        values = [getattr(one.use, reading) for each in launches for one in each.windows if one.phase == phase]
        found[phase] = tuple(value for value in values if not isinstance(value, Absent))
    return found


@click.command(context_settings=commands.SETTINGS)
@click.option("--model", default="resnet50", show_default=True, help="Model of both arms.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Inputs of a call.")
@click.option("--launches", type=click.IntRange(1), default=2, show_default=True, help="Launches.")
@click.option("--windows", type=click.IntRange(2), default=10, show_default=True, help="Windows in each phase.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="JSON file of the record.")
def main(model: str, batch: int, launches: int, windows: int, out: Path) -> None:
    """Compare an arm alone on the GPU with the same worker while another arm takes turns with it."""
    with commands.terminal() as terminal:
        commands.write(measure(model, batch, launches, windows, terminal), out)
        terminal.say(f"Record: {out}")


if __name__ == "__main__":
    main()

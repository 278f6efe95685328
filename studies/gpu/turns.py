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
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from levelfield.backends.protocol import Unsupported
from levelfield.errors import LevelfieldError
from levelfield.launchers.worker import WorkerError
from levelfield.machine.device_use import Device
from levelfield.machine.signals import Signals
from levelfield.record.files import write_atomically
from levelfield.record.schema import Absent, Arm, Block, DeviceUse
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.resources import RunResources
from levelfield.schedule.rounds import Pace, warm_up
from levelfield.schedule.timed_inputs import rotate
from levelfield.worker.messages import Measure
from studies import commands
from studies.workers import launch, process_ids, take_turn

FIRST, SECOND = "torch", "jax"
WINDOW_NS = 100_000_000
LONG_WINDOW_NS = 4_000_000_000
REWARM_NS = 5_000_000
PACE = Pace(rounds=1, window_ns=WINDOW_NS, min_calls=3, repeats=0)
ALONE, BESIDE, AGAIN = "alone", "taking turns", "alone again"


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
    scenario = "throughput-device" if batch > 1 else "latency-device"
    batches = (batch,) if batch > 1 else ()
    chosen = commands.selection(
        (model,), (FIRST, SECOND), scenarios=(scenario,), batches=batches, variant="auto", gpu="0", locked=False
    )
    found: list[Launch] = []
    with commands.prepared(chosen, terminal, "host") as (plan, resources):
        block = plan.blocks[0]
        gpu = plan.gpu if plan.gpu is not None else 0
        with Device(gpu) as device, Signals(resources.cpus) as signals:
            for number in range(launches):
                terminal.say(f"{model}: launch {number + 1} of {launches}")
                one, energy = _launch(resources, block, device, signals, windows, number, long=number + 1 == launches)
                found.append(one)
    return Turns(
        model=model,
        batch=batch,
        launches=tuple(found),
        energy=energy,
        clocks_mhz=_by_phase(found, "sm_clock_mhz"),
        temperatures_c=_by_phase(found, "temperature_c"),
    )


def _launch(
    resources: RunResources, block: Block, device: Device, signals: Signals, windows: int, seed: int, *, long: bool
) -> tuple[Launch, Energy]:
    first, second = (_arm(block, name) for name in (FIRST, SECOND))
    taken: list[Window] = []
    outcomes = _ready(resources, block, first)
    try:
        taken += [_window(outcomes[0], outcomes, device, signals, ALONE) for _ in range(windows)]
        outcomes += _ready(resources, block, second)
        order = random.Random(seed)  # noqa: S311  (a schedule, not a secret)
        for _ in range(windows):
            for outcome in order.sample(outcomes, 2):
                window = _window(outcome, outcomes, device, signals, BESIDE)
                if outcome is outcomes[0]:
                    taken.append(window)
        end_workers(outcomes[1:])
        outcomes = outcomes[:1]
        time.sleep(0.5)
        taken += [_window(outcomes[0], outcomes, device, signals, AGAIN) for _ in range(windows)]
        energy = _energy(taken, outcomes, device, signals) if long else Energy(None, None)
    finally:
        end_workers(outcomes)
    return Launch(tuple(taken), _ratio(taken, (BESIDE,), (ALONE, AGAIN)), _ratio(taken, (AGAIN,), (ALONE,))), energy


def _arm(block: Block, backend: str) -> Arm:
    return next(arm for arm in block.arms if arm.backend == backend)


def _ready(resources: RunResources, block: Block, arm: Arm) -> list[Outcome]:
    outcomes = launch(resources, block.case, [arm], launch_measured=False)
    rotate(resources, block.case, outcomes)
    for outcome in outcomes:
        warm_up(outcome, PACE)
    return outcomes


def _window(
    outcome: Outcome, alive: Sequence[Outcome], device: Device, signals: Signals, phase: str, length_ns: int = WINDOW_NS
) -> Window:
    pids = process_ids(alive)
    request = Measure(window_ns=length_ns, min_calls=3, rewarm_ns=REWARM_NS)
    before = device.read()
    turn = take_turn(outcome, request, signals, pids)
    samples = turn.window.samples_ns
    return Window(phase, statistics.median(samples), len(samples), device.use(before, pids, outcome.launch.arm))


def _energy(taken: Sequence[Window], outcomes: Sequence[Outcome], device: Device, signals: Signals) -> Energy:
    one = _window(outcomes[0], outcomes, device, signals, AGAIN, LONG_WINDOW_NS)
    return Energy(_joules(taken), _joules([one]))


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
        try:
            record = measure(model, batch, launches, windows, terminal)
        except (WorkerError, Unsupported) as error:
            raise LevelfieldError(str(error)) from error
        write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        terminal.say(f"Record: {out}")


if __name__ == "__main__":
    main()

"""Whether a GPU has states, and whether a probe of a millisecond sees them.

Two identical workers take turns in random order, as in a run; a third process, this one, times a matrix product and a
copy on the GPU right before and right after each window. `python -m studies.gpu.states --analyse RECORD` forms the
spreads of a record anew. The rule that calls a window calm was fixed before any window was taken: it is `CALM` and
`LOW_SHARE` of `studies.gpu.calm`.
"""

import importlib
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from levelfield.backends.protocol import Unsupported
from levelfield.errors import LevelfieldError
from levelfield.launchers.worker import WorkerError
from levelfield.machine.device_use import Device
from levelfield.machine.signals import Signals
from levelfield.record.schema import Arm, Block, DeviceUse
from levelfield.schedule.outcomes import Outcome, end_workers, utc_now
from levelfield.schedule.resources import RunResources
from levelfield.schedule.rounds import Pace, warm_up
from levelfield.schedule.timed_inputs import rotate
from levelfield.version import __version__
from levelfield.worker.messages import Measure
from studies import commands
from studies.gpu.calm import Case, Probe, Window, markdown
from studies.workers import launch, process_ids, take_turn

WINDOW_NS = 100_000_000
REWARM_NS = 5_000_000
PACE = Pace(rounds=1, window_ns=WINDOW_NS, min_calls=3, repeats=0)
SIZES = {"cuda": (8192, 1 << 30), "cpu": (256, 1 << 20)}
"""Side of the matrices and bytes of the copy: on an H200 1.4 ms of products in bf16, and 0.5 ms of copying."""
_CASES = {"resnet50": ("throughput", (32,)), "mlp": ("latency", ())}
"""Scenario and batch of each model: bound by the GPU, and by the CPU that calls it."""


class States(commands.Record, frozen=True, kw_only=True):
    """All windows of all cases."""

    TRIAL = "gpu-states"

    started: str
    tool_version: str
    machine: dict[str, dict[str, Any]]
    cases: tuple[Case, ...]


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
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return int(start.elapsed_time(end) * 1e6)


def measure(
    model: str, variant: str, launches: int, windows: int, seconds: float, say: Callable[[str], None]
) -> Sequence[Window]:
    """Take the windows of a case; no launch begins after `seconds`."""
    device_kept = variant != "cpu"
    scenario, batches = _CASES[model]
    chosen = commands.selection(
        (model,),
        ("torch",),
        control="torch",
        scenarios=(f"{scenario}-device" if device_kept else scenario,),
        batches=batches,
        variant=variant,
        gpu="0" if device_kept else None,
        locked=False,
    )
    found: list[Window] = []
    begun = time.monotonic()
    prober = _Prober()
    with commands.terminal() as terminal, commands.prepared(chosen, terminal, "host") as (plan, resources):
        block = plan.blocks[0]
        with Device(plan.gpu or 0) as device, Signals(resources.cpus) as signals:
            for number in range(launches):
                if time.monotonic() - begun > seconds:
                    break
                say(f"{model}: launch {number + 1} of {launches}")
                found += _launch(resources, block, device, signals, prober, number, windows)
    return found


def _launch(
    resources: RunResources,
    block: Block,
    device: Device,
    signals: Signals,
    prober: _Prober,
    number: int,
    windows: int,
) -> list[Window]:
    arms: Sequence[Arm] = block.arms[:2]
    outcomes = launch(resources, block.case, arms, launch_measured=False)
    order = random.Random(number)  # noqa: S311  (a schedule, not a secret)
    request = Measure(window_ns=WINDOW_NS, min_calls=3, rewarm_ns=REWARM_NS)
    found: list[Window] = []
    try:
        rotate(resources, block.case, outcomes)
        for outcome in outcomes:
            warm_up(outcome, PACE)
        pids = process_ids(outcomes)
        for _ in range(windows):
            turns = order.sample(outcomes, len(outcomes))
            found += [_window(outcome, number, request, device, signals, pids, prober) for outcome in turns]
    finally:
        end_workers(outcomes)
    return found


def _window(
    outcome: Outcome,
    number: int,
    request: Measure,
    device: Device,
    signals: Signals,
    pids: dict[str, int],
    prober: _Prober,
) -> Window:
    before = prober.probe()
    reading = device.read()
    turn = take_turn(outcome, request, signals, pids)
    use: DeviceUse = device.use(reading, pids, outcome.launch.arm)
    after = prober.probe()
    samples = turn.window.samples_ns
    return Window(
        launch=number,
        arm=outcome.launch.arm,
        median_ns=statistics.median(samples),
        calls=len(samples),
        probed_before=before,
        probed_after=after,
        sm_clock_mhz=use.sm_clock_mhz,
        memory_clock_mhz=use.memory_clock_mhz,
        temperature_c=use.temperature_c,
        power_mw=use.power_mw,
        throttled=use.throttled,
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", default="resnet50,mlp", show_default=True, help="Which of the two cases.")
@click.option("--variant", default="auto", show_default=True, help="cpu tries the study without a GPU.")
@click.option("--launches", type=click.IntRange(1), default=5, show_default=True, help="Launches of both workers.")
@click.option("--windows", type=click.IntRange(2), default=40, show_default=True, help="Windows of each in a launch.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="No launch of a case begins later.")
@commands.out_option
@commands.analyse_option
def main(
    models: str, variant: str, launches: int, windows: int, seconds: float, out: Path | None, only: Path | None
) -> None:
    """Take windows of identical arms on a GPU with a probe around each, and say what the probe explains."""

    def taken(keep: commands.Keep[States], listener: commands.Terminal) -> States:
        from levelfield.machine.fingerprint import fingerprint

        record = States(
            schema=States.SCHEMA,
            started=utc_now(),
            tool_version=__version__,
            machine=msgspec.to_builtins(fingerprint(())),
            cases=(),
        )
        for model in models.split(","):
            try:
                case = Case(model, tuple(measure(model, variant, launches, windows, seconds, listener.say)))
            except (WorkerError, Unsupported, LevelfieldError) as error:
                listener.fail(f"{model}: {error}")
                continue
            record = msgspec.structs.replace(record, cases=(*record.cases, case))
            keep(record)
        return record

    commands.conduct(
        States, taken, lambda record: record, lambda record: markdown(record.cases), out=out, only=only, indent=0
    )


if __name__ == "__main__":
    main()

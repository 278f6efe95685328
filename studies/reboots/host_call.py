"""What the guest measures, measured on this machine itself: it tells how slow the emulation is."""

import statistics

from studies import commands
from studies.reboots import system
from studies.workers import process_ids, take_turn, warmed_up
from suite.launchers.choice import choose
from suite.machine.signals import Signals
from suite.schedule.rounds import Pace
from suite.worker.messages import Measure

_PACE = Pace(0, 100_000_000, 1, 0)
"""One window of a tenth of a second, as in the profile standard."""


def measure(listener: commands.Terminal) -> float:
    """Return the median call of one window of ONNX Runtime here, in nanoseconds."""
    launcher = choose(None, base="debian")[0].kind
    chosen = commands.selection((system.MODEL,), ("onnxruntime",), threads=1)
    with commands.prepared(chosen, listener, launcher) as (plan, resources):
        (block,) = plan.blocks
        with warmed_up(resources, block.case, block.arms, _PACE) as outcomes, Signals(resources.cpus) as signals:
            request = Measure(window_ns=_PACE.window_ns, min_calls=_PACE.min_calls)
            turn = take_turn(outcomes[0], request, signals, process_ids(outcomes))
            return statistics.median(turn.measured.samples_ns)

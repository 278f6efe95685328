"""Before the first block: how fast this machine multiplies matrices and moves memory, measured once and kept."""

from pathlib import Path

import msgspec

from levelfield.launchers.protocol import READY_TIMEOUT_S, LaunchSpec
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.machine.cpu import last_cache_bytes
from levelfield.machine.disturbance import reasons
from levelfield.machine.signals import Signals, difference
from levelfield.plan import cpu_pinning
from levelfield.record import journal
from levelfield.record.disturbance import Disturbed
from levelfield.record.files import JOURNAL
from levelfield.record.journal import Journal, RooflineKnown
from levelfield.record.measured import RooflineSamples
from levelfield.record.schema import Absent, Roofline
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.preparation import canary_arm
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import MeasureRoofline, RooflineMeasured

NAME = "roofline"
BUDGET_NS = 800_000_000
"""For the products, and as much for the memory: with a launch, about three seconds of a run."""
SMOKE_BUDGET_NS = 100_000_000
TIMEOUT_S = 60.0
ATTEMPTS = 2
"""A disturbed measurement is repeated so often at the most, and the last one kept."""
CACHES = 4
"""An array is so many times as large as the last level of cache, as STREAM asks."""
SMALLEST_BYTES, LARGEST_BYTES = 64 << 20, 512 << 20
"""Of an array: where the kernel shows no caches, and where there are very many of them."""


def probe(folder: Path, resources: RunResources, listener: ProgressListener) -> None:
    """Measure and write into a run's journal, unless it is there; where it cannot be measured, the reason."""
    run = journal.fold(journal.read(folder / JOURNAL))
    if not isinstance(run.roofline, Absent):
        return
    listener.say("measuring how fast this machine multiplies matrices and moves memory")
    thread_counts = sorted({block.case.threads for block in run.blocks if block.case.device == "cpu"})
    budget_ns = SMOKE_BUDGET_NS if "smoke" in run.labels else BUDGET_NS
    try:
        found: tuple[Roofline, ...] | Absent = tuple(_measured(resources, each, budget_ns) for each in thread_counts)
    except WorkerError as error:
        found = Absent(error.message)
    with Journal(folder / JOURNAL) as written:
        written.write(RooflineKnown(found or Absent("nothing is computed on the CPU")))


def _measured(resources: RunResources, threads: int, budget_ns: int) -> Roofline:
    cache_bytes = last_cache_bytes(resources.cpus)
    cpus = cpu_pinning.pinned(threads, resources.cpus, resources.topology)
    worker = resources.launcher.launch(
        LaunchSpec(
            name=NAME,
            image=resources.image(canary_arm()),
            threads=threads,
            cpus=cpus,
            memory_nodes=resources.memory_nodes(cpus),
            memory_bytes=resources.memory_bytes,
            artifacts=resources.artifacts.root,
        )
    )
    try:
        worker.await_ready(READY_TIMEOUT_S)
        request = MeasureRoofline(threads, array_bytes(cache_bytes, resources.memory_bytes), budget_ns)
        for _ in range(ATTEMPTS):
            measured, disturbed = _watched(worker, resources, request)
            if not disturbed:
                break
    finally:
        worker.stop()
    return Roofline(**msgspec.structs.asdict(measured), last_cache_bytes=cache_bytes, disturbed=disturbed)


def _watched(worker: Worker, resources: RunResources, request: MeasureRoofline) -> tuple[RooflineSamples, Disturbed]:
    """Ask, and say whether something else was about meanwhile."""
    pids = {NAME: worker.pid} if worker.pid is not None else {}
    with Signals(resources.cpus) as signals:
        before = signals.snapshot(pids)
        measured = worker.ask(request, RooflineMeasured, TIMEOUT_S).samples
        noise = difference(before, signals.snapshot(pids), NAME)
        return measured, reasons([noise], len(signals.cpus)) if pids else ()


def array_bytes(cache_bytes: int | Absent, memory_bytes: int) -> int:
    """Return the size of each of three arrays for measuring the memory's bandwidth."""
    bytes_needed = SMALLEST_BYTES if isinstance(cache_bytes, Absent) else CACHES * cache_bytes
    return min(max(SMALLEST_BYTES, min(bytes_needed, LARGEST_BYTES)), memory_bytes // 6)

"""What hardware took and did while each arm computed: energy an item by RAPL and NVML, power, clocks, memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from levelfield.analysis import collect
from levelfield.record.schema import Absent, Arm, Block, Case, DeviceUse, Run, Turn

MIN_RAPL_S = 0.1
"""RAPL's counters step about every millisecond: below so much time in all, a step would be seen."""


class EnergyRow(msgspec.Struct, frozen=True):
    """One arm of one case, over all its windows."""

    arm: str
    backend: str
    windows: int
    per_item_j: float | Absent
    """Joules of all the processor's packages for an input: of the whole machine, by all processes."""
    power_w: float | Absent
    """Mean over all its windows."""

    @property
    def items_per_joule(self) -> float | Absent:
        energy = self.per_item_j
        return energy if isinstance(energy, Absent) else 1 / energy


class EnergyBlock(msgspec.Struct, frozen=True):
    case: Case
    rows: tuple[EnergyRow, ...]


def energies(run: Run) -> tuple[EnergyBlock, ...]:
    """Return a summary of every block for whose windows RAPL was read; empty where there is none."""
    return tuple(found for block in run.blocks if (found := _block(block)).rows)


def _block(block: Block) -> EnergyBlock:
    rows = []
    for arm, turns in counted_by_arm(block):
        recorded = [turn.noise for turn in turns if turn.noise and not isinstance(turn.noise.package_energy_uj, Absent)]
        if recorded:
            energy = per_item(turns, block.case.items, of_packages, MIN_RAPL_S)
            power = collect.per_ns((noise.package_energy_uj, noise.elapsed_ns) for noise in recorded)
            power_w = power if isinstance(power, Absent) else 1e3 * power
            rows.append(EnergyRow(arm.id, arm.backend, len(recorded), energy, power_w))
    return EnergyBlock(block.case, tuple(rows))


def counted_by_arm(block: Block) -> Iterator[tuple[Arm, list[Turn]]]:
    """Yield every arm of a block but the canary, with its `counted` turns."""
    yield from ((arm, counted(block, arm.id)) for arm in block.arms if arm.id != block.canary)


def counted(block: Block, arm: str) -> list[Turn]:
    """Return an arm's turns that gave a window, except those of disturbed rounds."""
    return [turn for _, round_, turn in collect.turns(block, arm) if turn.window is not None and not round_.disturbed]


def per_item(
    turns: Iterable[Turn], batch: int, spent: Callable[[Turn], tuple[float | Absent, int] | None], least_s: float
) -> float | Absent:
    """Divide all energy by all items: single windows may be shorter than a counter's step."""
    energy_j, elapsed_ns, items = 0.0, 0, 0
    for turn in turns:
        recorded = spent(turn)
        if recorded is None or turn.window is None:
            continue
        joules, nanoseconds = recorded
        if isinstance(joules, Absent):
            return joules
        energy_j += joules
        elapsed_ns += nanoseconds
        items += batch * (turn.window.calls + len(turn.window.rewarm_ns))
    if elapsed_ns < least_s * 1e9:
        return Absent(f"the windows last {elapsed_ns / 1e9:.2f} s in all: too short for the energy counter")
    if energy_j <= 0 or items <= 0:
        return Absent("the energy counter did not move")
    return energy_j / items


def of_packages(turn: Turn) -> tuple[float | Absent, int] | None:
    """Return the joules of the processor's packages in a turn, and the nanoseconds that they are of; None: not read."""
    if turn.noise is None:
        return None
    energy = turn.noise.package_energy_uj
    return (energy if isinstance(energy, Absent) else energy / 1e6), turn.noise.elapsed_ns


MIN_WINDOW_S = 0.5
"""Seconds of a window at the least. NVML's counter of energy follows the GPU in steps of up to a tenth of a second
(arXiv:2312.02741), so that in a shorter window more than a fifth of what it counts may be that of the arm before: in
windows of 0.1 s identical arms differed by 12 % and one arm's windows by a factor of four (docs/gpu.md).
"""


class DeviceRow(msgspec.Struct, frozen=True):
    """One arm of one case, over all its windows."""

    arm: str
    backend: str
    windows: int
    energy_per_item_j: float | Absent
    """Joules of the whole GPU for an input: what idles on it meanwhile is in it."""
    power_w: float | Absent
    """Mean over all its windows, by the energy counter; where there is none, the median of what NVML said right after
    each, which it may have averaged over the last second. Absent where windows are too short for either."""
    utilisation: float | Absent
    """Share of time in which some kernel ran, median over windows, over NVML's own sampling period: a sixth of a second
    to a second, in which others' windows may lie."""
    sm_clock_mhz: float | Absent
    sm_clock_lowest_mhz: float | Absent
    memory_clock_mhz: float | Absent
    temperature_c: float | Absent
    """The highest."""
    memory_bytes: float | Absent
    """The most that its process held after a window."""
    allocated_bytes: float | Absent
    """The most that its framework's allocator counted, over launches."""
    throttled: tuple[str, ...]
    """Reasons, each once."""
    throttled_windows: int
    ecc_errors: float | Absent
    xid_errors: tuple[int, ...] | Absent
    """What NVIDIA's driver reported in its turns."""

    @property
    def items_per_joule(self) -> float | Absent:
        joules = self.energy_per_item_j
        return joules if isinstance(joules, Absent) else 1 / joules


class DeviceBlock(msgspec.Struct, frozen=True):
    case: Case
    rows: tuple[DeviceRow, ...]


def devices(run: Run) -> tuple[DeviceBlock, ...]:
    """Return a summary of every block with windows on a GPU; empty for runs on the CPU."""
    return tuple(found for block in run.blocks if (found := _device(block)).rows)


def _device(block: Block) -> DeviceBlock:
    rows = []
    for arm, turns in counted_by_arm(block):
        recorded = [turn for turn in turns if turn.device is not None]
        if recorded:
            rows.append(_device_row(block, arm, recorded))
    return DeviceBlock(block.case, tuple(rows))


def _device_row(block: Block, arm: Arm, turns: Sequence[Turn]) -> DeviceRow:
    uses = [turn.device for turn in turns if turn.device is not None]
    throttled = [use.throttled for use in uses if not isinstance(use.throttled, Absent) and use.throttled]
    return DeviceRow(
        arm=arm.id,
        backend=arm.backend,
        windows=len(uses),
        energy_per_item_j=per_item(turns, block.case.items, of_device, MIN_WINDOW_S),
        power_w=_power_w(uses),
        utilisation=_over(uses, lambda use: use.utilisation_percent, np.median, 1e-2),
        sm_clock_mhz=_over(uses, lambda use: use.sm_clock_mhz, np.median),
        sm_clock_lowest_mhz=_over(uses, lambda use: use.sm_clock_mhz, np.min),
        memory_clock_mhz=_over(uses, lambda use: use.memory_clock_mhz, np.median),
        temperature_c=_over(uses, lambda use: use.temperature_c, np.max),
        memory_bytes=_over(uses, lambda use: use.memory_bytes, np.max),
        allocated_bytes=_allocated(block, arm.id),
        throttled=tuple(dict.fromkeys(reason for reasons in throttled for reason in reasons)),
        throttled_windows=len(throttled),
        ecc_errors=_over(uses, lambda use: use.ecc_errors, np.sum),
        xid_errors=xid_errors(block, arm.id),
    )


def of_device(turn: Turn) -> tuple[float | Absent, int] | None:
    """Return the GPU's joules in a turn, and the nanoseconds that they are of; None: not read.

    They are absent, with the reason, where its window is so short that others' energy would be in them.
    """
    if turn.device is None:
        return None
    spent, elapsed_ns = turn.device.energy_mj, turn.device.elapsed_ns
    if isinstance(spent, Absent):
        return spent, elapsed_ns
    return _too_short(turn.device) or spent / 1e3, elapsed_ns


def _too_short(use: DeviceUse) -> Absent | None:
    if use.elapsed_ns >= MIN_WINDOW_S * 1e9:
        return None
    return Absent(
        f"a window of {use.elapsed_ns / 1e9:.2f} s is too short: part of what the counter shows is the energy of the "
        f"arm before ({MIN_WINDOW_S} s are needed, as in --profile full)"
    )


def _power_w(uses: Sequence[DeviceUse]) -> float | Absent:
    short = next(filter(None, map(_too_short, uses)), None)
    if short is not None:
        return short
    recorded = [(use.energy_mj, use.elapsed_ns) for use in uses if not isinstance(use.energy_mj, Absent)]
    energy_mj, elapsed_ns = sum(energy for energy, _ in recorded), sum(elapsed for _, elapsed in recorded)
    if energy_mj > 0:
        return energy_mj * 1e6 / elapsed_ns
    return _over(uses, lambda use: use.power_mw, np.median, 1e-3)


def xid_errors(block: Block, arm: str | None = None) -> tuple[int, ...] | Absent:
    """Return the XID errors of all turns, in the order they came, those of failed and disturbed turns included."""
    answers = [turn.device.xid_errors for *_, turn in collect.turns(block, arm) if turn.device is not None]
    known = collect.known(answers)
    return known if isinstance(known, Absent) else tuple(code for codes in known for code in codes)


def _over(
    uses: Iterable[DeviceUse],
    reading: Callable[[DeviceUse], int | Absent],
    summary: Callable[[list[int]], float],
    factor: float = 1.0,
) -> float | Absent:
    """Summarise a reading over the windows in which it is known."""
    known = collect.known(map(reading, uses))
    return known if isinstance(known, Absent) else float(summary(known)) * factor


def _allocated(block: Block, arm: str) -> float | Absent:
    memories = [launch.memory for _, launch in collect.launches(block, arm) if launch.memory is not None]
    peaks = [memory.device_bytes["peak allocated"] for memory in memories if "peak allocated" in memory.device_bytes]
    return float(max(peaks)) if peaks else Absent("its framework does not count it")

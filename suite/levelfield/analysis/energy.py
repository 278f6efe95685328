"""Energy an item: what the processor took while each arm computed, by RAPL; and how counters become joules an item."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from levelfield.analysis import collect
from levelfield.record.schema import Absent, Arm, Block, Case, Run, Turn

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


def summarise(run: Run) -> tuple[EnergyBlock, ...]:
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
    turns: Iterable[Turn],
    batch: int,
    spent: Callable[[Turn], tuple[float | Absent, int] | None],
    least_s: float,
) -> float | Absent:
    """Divide all energy by all items: single windows may be shorter than a counter's step.

    `spent`: returns, for a turn, joules and the nanoseconds that they are of; None: nothing was read.
    """
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

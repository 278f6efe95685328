"""From a record to what follows from it: medians, intervals, ranks and reasons. Pure, and the same in ten years."""

from dataclasses import dataclass, field
from functools import cached_property

from levelfield.analysis import (
    accuracy,
    convergence,
    hardware,
    insights,
    latency,
    loadgen,
    machine,
    money,
    ranks,
    scaling,
    time_spent,
    types,
    whole_launch,
)
from levelfield.analysis.estimates import ended_by
from levelfield.analysis.status import derive, summarise
from levelfield.analysis.time_spent import TimeSpent
from levelfield.record.schema import Absent, Block, Parity, Run, Settings, Warning_


@dataclass(frozen=True)
class Analysis:
    """Everything that is shown of a run. What most readers do not ask for is computed when it is."""

    run: Run = field(repr=False, compare=False)
    status: types.Status
    blocks: tuple[types.BlockAnalysis, ...]
    canary: types.Canary | None
    noise: types.NoiseSummary | None
    warnings: tuple[Warning_, ...]
    """The record's own and those that follow from it."""
    exit_code: int
    """0: fine; 1: some result failed or is not equal; 2: none could be measured here."""
    identical: types.PooledControls | None = None
    """None: neither this run nor one before it has a control."""
    insights: types.Insights = field(default_factory=types.Insights)
    states: types.BlockStates | Absent | None = None
    """Of the block that was probed last; None: nothing was timed here in windows."""

    @cached_property
    def tradeoffs(self) -> tuple[scaling.Tradeoff, ...]:
        """Questions that were measured in several precisions."""
        return scaling.tradeoffs(self.run, self.blocks)

    @cached_property
    def by_size(self) -> tuple[scaling.BySize, ...]:
        """A user's own file at several sizes or batches."""
        return scaling.by_size(self.run, self.blocks)

    @cached_property
    def scalings(self) -> tuple[scaling.Scaling, ...]:
        return scaling.scalings(self.run, self.blocks)

    @cached_property
    def devices(self) -> tuple[hardware.DeviceBlock, ...]:
        return hardware.devices(self.run)

    @cached_property
    def energies(self) -> tuple[hardware.EnergyBlock, ...]:
        return hardware.energies(self.run)

    @cached_property
    def judgements(self) -> tuple[accuracy.Judgement, ...]:
        """Of answers to data sets."""
        return accuracy.summarise(self.run)

    @cached_property
    def costs(self) -> tuple[money.CostBlock, ...]:
        """Empty where no price is known."""
        return money.summarise(self.run, self.blocks)

    @cached_property
    def time_spent(self) -> TimeSpent | None:
        """None: it was not measured."""
        return time_spent.summarise(self.run)

    @property
    def timed(self) -> tuple[types.TimedBlock, ...]:
        return tuple(block for block in self.blocks if isinstance(block, types.TimedBlock))

    @property
    def convergence(self) -> tuple[types.ConvergenceBlock, ...]:
        return tuple(block for block in self.blocks if isinstance(block, types.ConvergenceBlock))

    @property
    def loadgen(self) -> tuple[types.LoadGenBlock, ...]:
        return tuple(block for block in self.blocks if isinstance(block, types.LoadGenBlock))

    @property
    def cold(self) -> tuple[types.ColdBlock, ...]:
        return tuple(block for block in self.blocks if isinstance(block, types.ColdBlock))

    @property
    def memory(self) -> tuple[types.MemoryBlock, ...]:
        return tuple(block for block in self.blocks if isinstance(block, types.MemoryBlock))


def analyse(run: Run) -> Analysis:
    """Compute everything that is reported about a run, from its record alone."""
    blocks = analyse_blocks(run)
    status = summarise(run, blocks)
    canary, noise = machine.canary(run), machine.noise(run)
    return Analysis(
        run,
        status=status,
        blocks=blocks,
        canary=canary,
        noise=noise,
        warnings=derive(run, blocks, status, (canary, noise)),
        exit_code=_exit_code(status),
        identical=ranks.pooled_controls(run, blocks),
        insights=insights.derive(run, blocks),
        states=machine.of_run(run, blocks),
    )


def analyse_blocks(run: Run) -> tuple[types.BlockAnalysis, ...]:
    """Compute the results of a run alone, one entry per block, without what they tell of the run as a whole."""
    known = ranks.parities(run)
    return tuple(_block(block, known, run.settings) for block in run.blocks)


def _exit_code(status: types.Status) -> int:
    """Return 2 where nothing at all could be measured, though nothing went wrong either."""
    if status.unequal or status.failed or status.data_sets_failed:
        return 1
    return 2 if status.results and len(status.absent) == status.results else 0


def _block(block: Block, known: dict[tuple[str, str, str], Parity], settings: Settings) -> types.BlockAnalysis:
    ended = ended_by(settings, block.case)
    match block.case.definition.sample:
        case "cold start":
            return whole_launch.cold_start(block, known)
        case "peak memory":
            return whole_launch.memory(block, known)
        case "training run":
            return convergence.analyse(block, known, margin=settings.margin, ended=ended)
        case "LoadGen test":
            return loadgen.analyse(block, known, margin=settings.margin, ended=ended)
        case "window":
            return latency.analyse(block, known, margin=settings.margin, ended=ended)

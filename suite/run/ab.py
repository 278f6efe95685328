"""The `ab` command, step by step: two arms in one run, then the verdicts, the answer first."""

import hashlib
from pathlib import Path

import msgspec
from rich.console import Console

from suite import analysis, plan
from suite.compare.ab.comparison import LABEL, arms, compare_arms
from suite.compare.types import Comparison, Gate
from suite.errors import LevelfieldError
from suite.record import files, journal
from suite.record.schema import Run
from suite.run import bench
from suite.run.ab_launchers import choose_launchers, fits
from suite.run.options import Options
from suite.run.results import show_result
from suite.statistics.stopping import DEFAULT_TARGET
from suite.statistics.verdicts import DEFAULT_MARGIN


class AbResult(msgspec.Struct, frozen=True):
    """Result of one `ab`."""

    folder: Path
    record: Path
    run: Run
    comparison: Comparison


def target(requested: float | None, margin: float, profile: str) -> float | None:
    """Return the half-width that ratios should have, so that equal arms can be shown to be the same within the margin.

    A smoke run has a fixed number of generations, too few for any verdict.

    Parameters
    ----------
    requested
        Half-width that the user named, as a share (0.01 is 1 %); None: it follows from the margin.
    margin
        Relative difference that does not matter.
    profile
        Name of the profile.

    Returns
    -------
    float or None
        As a share; None: precision does not end the run.
    """
    if requested is not None or profile == "smoke":
        return requested
    return DEFAULT_TARGET * margin / DEFAULT_MARGIN


def measure(first: str, second: str, options: Options, gate: Gate, console: Console) -> AbResult:
    """Measure two arms against each other, and compare them.

    Parameters
    ----------
    first, second
        A and B, as `suite.plan.arms` reads them.
    options
        As for `bench`; the backends of the selection are not used.
    gate
        Margin, largest slowdown and false discovery rate.
    console
        Where to show the progress.

    Raises
    ------
    LevelfieldError
        Where nothing could be measured.
    """
    resumed = bench.find(options.resume, options.reports) if options.resume is not None else None
    if resumed is not None:  # arms that name no launcher live where the run's workers did; batches are those of the run
        settings = resumed[1].settings
        selection = msgspec.structs.replace(options.selection, batches=(), batches_of=settings.batches)
        options = msgspec.structs.replace(options, launcher=settings.launcher, selection=selection)
    first, second, options = choose_launchers(first, second, options)
    requested = fits(plan.pair(options.selection, first, second))
    chosen = plan.of_record(resumed[1]) if resumed else requested
    if resumed:
        _check_arms(resumed[1], requested)
    options = msgspec.structs.replace(options, labels=(LABEL, *options.labels))
    folder = bench.conduct(chosen, options, console, resumed=resumed)
    return conclude(folder, gate)


def conclude(folder: Path, gate: Gate) -> AbResult:
    """Fold the journal of a run with two arms into its record, and compare them.

    Parameters
    ----------
    folder
        The run's folder; its record is written.
    gate
        Margin, largest slowdown and false discovery rate.

    Raises
    ------
    LevelfieldError
        The journal cannot be read, or the record cannot be written.
    """
    run = journal.fold(journal.read(folder / files.JOURNAL))
    record = files.write(run, folder)
    return AbResult(folder, record, run, compare_arms(run, gate, hashlib.sha256(record.read_bytes()).hexdigest()))


def of_record(path: Path) -> AbResult:
    """Compare the arms of a run that was made before, from its record alone."""
    record = files.file_of(path)
    run = files.read(record)
    gate = Gate(margin=run.settings.margin)
    return AbResult(
        record.parent, record, run, compare_arms(run, gate, hashlib.sha256(record.read_bytes()).hexdigest())
    )


def _check_arms(run: Run, requested: plan.Plan) -> None:
    was = [arm.id for arm in arms(run)]
    now = [arm.id for arm in requested.blocks[0].arms]
    if was != now:
        raise LevelfieldError(
            f"The run {run.id} holds {was[0]} against {was[1]}, not {now[0]} against {now[1]}.",
            fix=f"Go on with it by `levelfield ab {was[0]} {was[1].partition('#')[0]} --resume {run.id}`.",
        )


def show(found: AbResult, console: Console, *, measured: bool, sign: Path | None = None) -> int:
    """Write the report beside the record, and show the comparison, its answer first.

    Parameters
    ----------
    found, console, measured, sign
        The run with its comparison; the rest as in `suite.run.results.show_result`.

    Returns
    -------
    int
        Exit code of the comparison.
    """
    result = analysis.analyse(found.run)
    show_result(found.record, found.run, result, console, measured=measured, comparison=found.comparison, sign=sign)
    return found.comparison.exit_code

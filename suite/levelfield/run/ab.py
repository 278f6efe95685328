"""The `ab` command, step by step: two arms in one run, then the verdicts, the answer first."""

import hashlib
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from levelfield import analysis, plan
from levelfield.analysis import guarded
from levelfield.compare.ab.comparison import LABEL, arms, compare_arms, undecided
from levelfield.compare.types import Comparison, Gate
from levelfield.errors import LevelfieldError
from levelfield.record import files, journal, page
from levelfield.record.schema import Run
from levelfield.run import bench
from levelfield.run.ab_launchers import choose_launchers, fits
from levelfield.run.options import Options
from levelfield.run.results import show_result
from levelfield.statistics.student import FIRST_LOOK


class AbResult(msgspec.Struct, frozen=True):
    """Result of one `ab`."""

    folder: Path
    record: Path
    run: Run
    comparison: Comparison


def measure(first: str, second: str, options: Options, gate: Gate, console: Console) -> AbResult:
    """Measure two arms against each other, and compare them.

    Raises LevelfieldError: where nothing could be measured.
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
    ends = options.precision_target is None and options.selection.profile != "smoke"
    options = msgspec.structs.replace(options, labels=(LABEL, *options.labels), ends_on_verdict=ends)
    if ends and not resumed:
        chosen = plan.with_timed_launches(chosen, FIRST_LOOK)
    folder = bench.conduct(chosen, options, console, resumed=resumed, undecided=partial(undecided, gate=gate))
    return conclude(folder, gate)


def conclude(folder: Path, gate: Gate) -> AbResult:
    """Fold the journal of a run with two arms into its record, and compare them.

    Raises LevelfieldError: the journal cannot be read.
    """
    run = journal.fold(journal.read(folder / files.JOURNAL))
    sha256 = hashlib.sha256(files.encode(run)).hexdigest()
    return AbResult(folder, folder / page.NAME, run, compare_arms(run, gate, sha256))


def of_record(path: Path) -> AbResult:
    """Compare the arms of a run that was made before, from its record alone."""
    read = guarded.read(path)
    gate = Gate(margin=read.run.settings.margin)
    return AbResult(read.file.parent, read.file, read.run, compare_arms(read.run, gate, read.sha256))


def _check_arms(run: Run, requested: plan.Plan) -> None:
    was = [arm.id for arm in arms(run)]
    now = [arm.id for arm in requested.blocks[0].arms]
    if was != now:
        raise LevelfieldError(
            f"The run {run.id} holds {was[0]} against {was[1]}, not {now[0]} against {now[1]}.",
            fix=f"Go on with it by `levelfield ab {was[0]} {was[1].partition('#')[0]} --resume {run.id}`.",
        )


def show(found: AbResult, console: Console, *, measured: bool, sign: Path | None = None) -> int:
    """Write the report beside the record, and show the comparison, its answer first."""
    result = analysis.analyse(found.run)
    show_result(found.record, found.run, result, console, measured=measured, comparison=found.comparison, sign=sign)
    return found.comparison.exit_code

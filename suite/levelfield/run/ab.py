"""The `ab` command, step by step: two arms in one run, then the verdicts, the answer first."""

import hashlib
import platform
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from levelfield import analysis, plan
from levelfield.analysis import guarded
from levelfield.analysis.status import AB
from levelfield.compare.ab import arms, compare_arms, gate_of, undecided
from levelfield.compare.types import Comparison, Gate
from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import connect
from levelfield.plan import Plan
from levelfield.plan import arms as arm_names
from levelfield.plan.arms import LAUNCHERS
from levelfield.record import files, journal, page
from levelfield.record.references import DEFAULT_VARIANT, suffix
from levelfield.record.schema import Arm, Run
from levelfield.report.sentences import join
from levelfield.run import bench
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
    """Measure two arms against each other, and compare them; LevelfieldError: nothing could be measured."""
    resumed = bench.to_resume(options)
    if resumed is not None:
        selection = msgspec.structs.replace(options.selection, batches=(), batches_of=resumed[1].settings.batches)
        options = msgspec.structs.replace(options, selection=selection)
    words = shlex.join((first, second))
    first, second, options = choose_launchers(first, second, options)
    requested = fits(plan.pair(options.selection, first, second))
    chosen = plan.of_record(resumed[1]) if resumed else requested
    if resumed:
        _check_arms(resumed[1], requested)
        gate = _same_gate(resumed[1], gate)
    ends = options.precision_target is None and options.selection.profile != "smoke"
    go_on = f"levelfield ab {words} --resume {{run}}"
    options = msgspec.structs.replace(
        options, labels=(AB, *options.labels), ends_on_verdict=ends, max_slowdown=gate.max_slowdown, go_on=go_on
    )
    if ends and not resumed:
        chosen = plan.with_timed_launches(chosen, FIRST_LOOK)
    folder = bench.conduct(chosen, options, console, resumed=resumed, undecided=partial(undecided, gate=gate))
    return conclude(folder)


def conclude(folder: Path) -> AbResult:
    """Fold the journal of a run with two arms into its record, and compare them."""
    run = journal.fold(journal.read(folder / files.JOURNAL))
    sha256 = hashlib.sha256(files.encode(run)).hexdigest()
    return AbResult(folder, folder / page.NAME, run, compare_arms(run, gate_of(run), sha256))


def of_record(path: Path) -> AbResult:
    """Compare the arms of a run that was made before, from its record alone."""
    read = guarded.read(path)
    return AbResult(read.file.parent, read.file, read.run, compare_arms(read.run, gate_of(read.run), read.sha256))


def _check_arms(run: Run, requested: plan.Plan) -> None:
    was = [arm.id for arm in arms(run)]
    now = [arm.id for arm in requested.blocks[0].arms]
    if was != now:
        named = shlex.join((was[0], was[1].partition("#")[0]))
        raise LevelfieldError(
            f"The run {run.id} holds {was[0]} against {was[1]}, not {now[0]} against {now[1]}.",
            fix=f"Go on with it by `levelfield ab {named} --resume {shlex.quote(run.id)}`.",
        )


def _same_gate(run: Run, asked: Gate) -> Gate:
    known = gate_of(run)
    if asked.max_slowdown not in {None, known.max_slowdown}:
        was = (
            f"with --max-slowdown {100 * known.max_slowdown:.12g}%" if known.max_slowdown else "without --max-slowdown"
        )
        raise LevelfieldError(
            f"The run {run.id} was begun {was}, by which its verdicts are.",
            fix="Leave --max-slowdown out, or compare two runs with `levelfield compare`.",
        )
    return known


def show(found: AbResult, console: Console, *, measured: bool, sign: Path | None = None) -> int:
    """Write the report beside the record, and show the comparison, its answer first."""
    result = analysis.analyse(found.run)
    show_result(found.record, found.run, result, console, measured=measured, comparison=found.comparison, sign=sign)
    return found.comparison.exit_code


USUAL = "docker"
"""Launcher of an arm that names none beside one that does, if `--launcher` is not given either."""


def choose_launchers(
    first: str, second: str, options: Options, *, there: Callable[[str], bool] = arm_names.is_installed
) -> tuple[str, str, Options]:
    """Give both arms a launcher where one of them names it; otherwise change nothing.

    No other launcher is ever taken in place of one that does not work: two arms in the same place would be measured,
    and called a comparison of two.

    Raises LevelfieldError: the interpreter lacks the framework of an arm that is to live in it, or no engine answers
    for one that is to live in a container.
    """
    read = [arm_names.parse(each) for each in (first, second)]
    if not any(arm.launcher for arm in read):
        return first, second, options
    places = [arm.launcher or options.launcher or USUAL for arm in read]
    found = [msgspec.structs.replace(arm, launcher=place) for arm, place in zip(read, places, strict=True)]
    for arm in found:
        if arm.launcher == "host":
            _check_host(arm, there)
    if "docker" in places:
        _check_engine()
    launcher = options.launcher or next(each for each in LAUNCHERS if each in places)
    selection = msgspec.structs.replace(options.selection, locked=set(places) != {"host"})
    return found[0].id, found[1].id, msgspec.structs.replace(options, launcher=launcher, selection=selection)


def _check_host(arm: Arm, there: Callable[[str], bool]) -> None:
    if arm.version is not None:
        raise LevelfieldError(
            f"{arm.id} is to run in this interpreter, which has what is installed there and no versions.",
            fix=f"Leave {suffix(DEFAULT_VARIANT, arm.version)} out, or choose +{arm_names.LAUNCHER}=venv.",
        )
    lacking = arm_names.missing_modules(arm, there)
    if lacking:
        raise LevelfieldError(
            f"{arm.id} is to run in this interpreter (Python {platform.python_version()}), which has no "
            f"{join(lacking)}.",
            fix=f"Install it here, or choose +{arm_names.LAUNCHER}=venv, which brings the locked one.",
        )


def _check_engine() -> None:
    try:
        connect().close()
    except LevelfieldError as error:
        raise LevelfieldError(
            f"An arm is to run in containers. {error.message}",
            fix="Start an engine (`levelfield doctor` says how): what a container costs is told beside one, or not at "
            "all.",
        ) from error


def fits(plan: Plan) -> Plan:
    """Return a plan whose arms can be compared although their launchers differ.

    Raises LevelfieldError: on a GPU, one of two arms runs in the current interpreter: no lock says which CUDA it has.
    """
    places = {arm.launcher for block in plan.blocks for arm in block.arms} - {""}
    if plan.gpu is not None and "host" in places and len(places) > 1:
        raise LevelfieldError(
            "On a GPU, this interpreter's own CUDA cannot be compared with a locked one.",
            fix="Add --variant cpu, or choose docker and venv.",
        )
    return plan

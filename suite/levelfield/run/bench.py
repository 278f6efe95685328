"""The `bench` command, step by step: plan, show the cost, prepare, measure, and show the result in any case."""

import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from levelfield import analysis, plan
from levelfield.analysis.types import BlockAnalysis, ConvergenceBlock, LoadGenBlock, TimedBlock
from levelfield.errors import LevelfieldError, explained, with_bare_file_names
from levelfield.launchers import disk_limit
from levelfield.launchers.needs import choose, launchers_by_name
from levelfield.machine.fingerprint import fingerprint
from levelfield.names import plural
from levelfield.options.registry import contradicting, typed
from levelfield.plan.arms import of_one_launcher
from levelfield.record import files, journal, page
from levelfield.record.schema import Image, Run
from levelfield.record.warnings import BUDGET_SPENT
from levelfield.report.progress import opened
from levelfield.report.sentences import join
from levelfield.run import first_ranking
from levelfield.run.options import Options, again
from levelfield.run.results import show_result, something_left
from levelfield.run.start import announce, check_readable, check_same, start_run
from levelfield.schedule import data_sets, roofline
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.schedule.run import RunInProgress, Undecided

NOT_DECIDED = 3
OF_AN_UPGRADE = ("levelfield", "upgrade", "next")
"""First words of the command that records of an upgrade's runs hold."""

REPORT_S = 10.0
"""Time that a run until a given time keeps for its report."""


def run_bench(options: Options, console: Console) -> tuple[Path, int]:
    """Run a benchmark, or resume one; return the run's folder and the exit code.

    Raises LevelfieldError: nothing could be measured. Once something was, the record and the report are written first.
    """
    if options.until_seconds is not None:
        options = _in_short(options)
    until = time.monotonic() + options.until_seconds if options.until_seconds is not None else None
    resumed = to_resume(options)
    chosen = plan.of_record(resumed[1]) if resumed else _planned(options)
    of_one_launcher(chosen.answering)
    _check_used(options, chosen)
    if resumed is None and (options.so_far or until is not None):
        launcher, _ = choose(options.launcher, base=options.base)
        first = first_ranking.choose(chosen, launcher, options.base, options.until_seconds)
        if first and until is None:
            announce(chosen, launcher, options, console)
            options = msgspec.structs.replace(options, yes=True)
            _rank_first(chosen, first, options, console)
        elif first:
            options = first_ranking.narrowed(options, chosen, first)
            chosen = _planned(options)
    folder = conduct(chosen, options, console, resumed=resumed, until=until)
    return folder, finish(folder, console, strict=options.strict)


def _planned(options: Options) -> plan.Plan:
    """Plan what was asked for, and where no backend was named, of locks for the Pythons that environments can have."""
    launcher, _ = choose(options.launcher, base=options.base)
    return plan.make(plan.found_here(options.selection, launcher.kind))


def _in_short(options: Options) -> Options:
    """Return the options of a run that ends at a time: it measures latency, where nothing else was named."""
    if options.budget_seconds is not None or options.resume is not None:
        raise LevelfieldError("--until is the end of a new run.", fix="Leave --budget and --resume out, or --until.")
    scenarios = options.selection.scenarios or ("latency",)
    return msgspec.structs.replace(options, selection=msgspec.structs.replace(options.selection, scenarios=scenarios))


def _rank_first(chosen: plan.Plan, arms: tuple[str, ...], options: Options, console: Console) -> None:
    """Measure two arms and show their ranking, before the images of the others are made."""
    first = msgspec.structs.replace(
        first_ranking.narrowed(options, chosen, arms), by_clock=False, budget_seconds=None, precision_target=None
    )
    console.print(f"First [bold]{escape(' and '.join(arms))}[/].")
    folder = conduct(_planned(first), first, console)
    console.print("[bold]So far[/]", highlight=False)
    finish(folder, console)
    console.print("[bold]All backends[/]", highlight=False)


def conduct(
    chosen: plan.Plan,
    options: Options,
    console: Console,
    *,
    resumed: tuple[Path, Run] | None = None,
    undecided: Undecided | None = None,
    prepared: Callable[[Collection[Image]], None] | None = None,
    begun: Callable[[Path], None] | None = None,
    until: float | None = None,
) -> Path:
    """Make what a plan needs and measure it, or resume it.

    `resumed`: folder and record so far of the run to resume; None: a new one begins. `until`: when it has to end, as
    `time.monotonic` counts; None: as the options say. Raises LevelfieldError: nothing could be measured. Once something
    was, the record and the report are written first. Raises SystemExit: it was a dry run.
    """
    launcher, reason = choose(options.launcher, base=options.base)
    if resumed:
        _check_launcher(resumed[1], launcher.kind)
    if reason:
        console.print(
            f"[bold yellow]{escape(reason)}[/] The same locked wheels run in virtual environments instead: without "
            "pinned memory, without a network barrier, with this machine's own libraries underneath.",
            highlight=False,
        )
    if resumed is None or options.dry_run:
        announce(chosen, launcher, as_begun(options, resumed[1]) if resumed else options, console)
    launchers = launchers_by_name((arm.launcher for arm in chosen.answering), launcher, base=options.base)
    swept = sum(each.sweep() for each in {one.kind: one for one in (launcher, *launchers.values())}.values())
    disk_limit.sweep()
    if swept:
        console.print(f"Removed {plural(swept, 'container')} that a killed run had left behind.", highlight=False)
    _writable(options.reports)
    requests = options.data_sets
    if resumed is not None:
        requests = data_sets.repeat(requests, resumed[1].data_sets, needed=True)
    with opened(console) as listener:
        resources = prepare(
            chosen,
            launcher,
            listener,
            launchers=launchers,
            target=resumed[1].settings.target if resumed else options.target,
        )
        try:
            with resources.watch.phase("preparing"):
                answered: tuple[data_sets.Prepared, ...] = ()
                if requests:
                    answered = data_sets.hooks().prepare(
                        requests, chosen.models, launcher, resources.artifacts.root, options.beside_data, listener.say
                    )
                    before = resumed[1].data_sets if resumed is not None else options.expected_data
                    data_sets.check_same((each.data_set for each in answered), before)
                if resumed is None:
                    if prepared is not None:
                        prepared(resources.images.values())
                    if until is not None:
                        left_s = max(1.0, until - time.monotonic() - REPORT_S)
                        options = msgspec.structs.replace(options, budget_seconds=round(left_s, 1))
                    options = msgspec.structs.replace(options, launcher_reason=with_bare_file_names(reason))
                    folder = start_run(chosen, options, resources, [each.data_set for each in answered])
                    if begun is not None:
                        begun(folder)
                else:
                    folder = resumed[0]
                    _check_resume(resumed[1], chosen, resources.images.values())
            with resources.watch.phase("roofline"):
                roofline.probe(folder, resources, listener)
            if answered:
                with resources.watch.phase("answering data sets"):
                    data_sets.hooks().answer(folder, resources, answered, listener)
            run = RunInProgress(
                folder,
                resources,
                listener,
                resumed=resumed is not None,
                budget_seconds=more_seconds(options) if resumed is not None else None,
                undecided=undecided,
            )
            _measure(run, folder, console, options.go_on.replace("{run}", again(folder, options.command)))
        finally:
            remove_caches(resources.caches)
    return folder


def _measure(bench: RunInProgress, folder: Path, console: Console, go_on: str) -> None:
    """Measure everything; if an error ends it early, the results so far are shown first."""
    try:
        bench.measure()
    except KeyboardInterrupt:
        finish(folder, console)
        raise LevelfieldError("Interrupted; everything measured so far is kept.", fix=f"Go on with {go_on}.") from None
    except (LevelfieldError, OSError):
        _try_to_finish(folder, console)
        raise


def finish(folder: Path, console: Console, *, strict: bool = False) -> int:
    """Fold the journal, write the page, and show the result.

    Raises LevelfieldError: it was interrupted: the measurements are kept, and the report can be written later.
    """
    try:
        run = journal.fold(journal.read(folder / files.JOURNAL))
        result = analysis.analyse(run)
        show_result(folder / page.NAME, run, result, console, measured=True)
    except KeyboardInterrupt:
        raise LevelfieldError(
            "Interrupted while the report was written; everything measured is kept.",
            fix=f"Go on with: levelfield {'report' if files.has_record(folder) else 'bench --resume'} "
            f"{again(folder, run.command)}.",
        ) from None
    if strict and result.exit_code == 0 and any(_undecided(block) for block in result.blocks):
        return NOT_DECIDED
    return result.exit_code


def _undecided(block: BlockAnalysis) -> bool:
    return isinstance(block, TimedBlock | ConvergenceBlock | LoadGenBlock) and bool(block.unranked_reason)


def _try_to_finish(folder: Path, console: Console) -> None:
    """Write what there is; a full disk must not hide the error that ended the run."""
    try:
        finish(folder, console)
    except (LevelfieldError, OSError) as error:
        console.print(escape(str(error)), highlight=False)


def _check_used(options: Options, chosen: plan.Plan) -> None:
    """Refuse an option that no case of the plan would use."""
    driven = {block.case.definition.driven_as for block in chosen.blocks if block.case.definition.driven}
    converges = any(block.case.converges for block in chosen.blocks)
    for value, option, scenario, used in (
        (options.target, "--target", "convergence", converges),
        (options.latency_target_ms, "--loadgen latency=…", "loadgen-server", "Server" in driven),
        (options.loadgen_test_s, "--loadgen test=…", "loadgen-single-stream", bool(driven)),
    ):
        if value is not None and not used:
            raise LevelfieldError(
                f"{option} is for the scenario {scenario}, which this run does not hold.",
                fix=f"Add --scenarios {scenario}, or leave {option.partition('=')[0]} out.",
            )


def _writable(reports: Path) -> None:
    """Find out before hours of measuring that nothing can be kept."""
    with explained(f"Reports cannot be written to {reports}", "Choose another folder with --reports."):
        reports.mkdir(parents=True, exist_ok=True)
        tempfile.NamedTemporaryFile(dir=reports, prefix=".").close()


def to_resume(options: Options) -> tuple[Path, Run] | None:
    """Return the folder and the record so far of the run that is resumed; None: a new one begins.

    Raises LevelfieldError: it cannot be resumed, or not with these options.
    """
    if options.resume is None:
        return None
    folder, run = find(options.resume, options.reports)
    others = contradicting(run, options.command)
    own, begun = options.selection.own, run.settings.own
    if not others and own is not None and begun is not None and own.sha256 != begun.sha256:
        others = ["--model"]
    if others:
        raise LevelfieldError(
            f"{join(others)} {'asks' if len(others) == 1 else 'ask'} for something else than what the run {run.id} "
            "was begun with, and a run keeps its plan.",
            fix=f"Leave {join(others)} out, or begin another run; --budget alone may be a new one.",
        )
    spent = any(warning.code == BUDGET_SPENT for warning in run.warnings)
    if run.finished and spent and run.settings.clock_seconds is not None and more_seconds(options) is None:
        raise LevelfieldError(
            f"The budget of the run {run.id} has no time for what is left to measure.",
            fix="Give it more with --budget, which is then the time from here on.",
        )
    return folder, run


def more_seconds(options: Options) -> float | None:
    """Return the budget that was typed for a run that is resumed; None: the run keeps the one that it had."""
    return options.budget_seconds if options.resume is not None and "--budget" in typed(options.command) else None


def as_begun(options: Options, run: Run) -> Options:
    """Return the options by which a run that is resumed ends."""
    settings, budget_s = run.settings, more_seconds(options)
    if budget_s is None and settings.budget_seconds is not None:
        before_s = 0.0 if settings.clock_seconds is None else journal.measured_s(run.time_spent_s)
        budget_s = max(0.0, settings.budget_seconds - before_s)
    return msgspec.structs.replace(
        options,
        budget_seconds=budget_s,
        by_clock=settings.clock_seconds is not None,
        precision_target=settings.precision_target,
        ends_on_verdict=settings.ends_on_verdict,
    )


def find(name: str, reports: Path) -> tuple[Path, Run]:
    """Return the folder and the record so far of a run that can be resumed.

    Raises LevelfieldError: there is no such run, nothing of it is left to measure, another process is measuring it, or
    it is the run of one boot of an upgrade.
    """
    folder = next((path for path in (Path(name), reports / name) if (path / files.JOURNAL).is_file()), None)
    if folder is None:
        if any(files.has_record(path) for path in (Path(name), reports / name)):
            raise _finished(name)
        raise LevelfieldError(
            f"There is no run {name!r} to go on with.",
            fix=f"Name a folder under {reports} that holds a {files.JOURNAL}.",
        )
    with journal.Journal(folder / files.JOURNAL):  # refused at once, and not after images were built
        run = journal.fold(journal.read(folder / files.JOURNAL))
    check_readable(run)
    if run.command[: len(OF_AN_UPGRADE)] == OF_AN_UPGRADE:
        raise LevelfieldError(
            f"The run {name!r} measures one boot of an upgrade, and must not hold windows of another boot.",
            fix="Go on with it by `levelfield upgrade next`, which knows the boot in which it began.",
        )
    if files.has_record(folder) and not something_left(run):
        raise _finished(name)
    return folder, run


def _finished(name: str) -> LevelfieldError:
    return LevelfieldError(f"The run {name!r} is finished.", fix="Begin another: bench without --resume.")


def _check_launcher(run: Run, kind: str) -> None:
    """Refuse to measure elsewhere than the run began, which would be other workers, or where only its journal says."""
    if run.settings.launcher != kind:
        raise LevelfieldError(
            f"The run {run.id} was begun with the launcher {run.settings.launcher}; here it would go on with {kind}.",
            fix=f"Add --launcher {run.settings.launcher} if its workers are to run so.",
        )


def _check_resume(run: Run, chosen: plan.Plan, images: Iterable[Image]) -> None:
    check_same(run.machine, fingerprint(chosen.cpus, identify="identity" in run.machine))
    now = {(image.launcher, image.name, image.variant): image.tag for image in images}
    for image in run.images:
        found = now.get((image.launcher, image.name, image.variant))
        if found is not None and found != image.tag:
            raise LevelfieldError(
                f"The image {image.name} is {found} now, and was {image.tag} when the run began.",
                fix="Start a new run, and compare the two.",
            )

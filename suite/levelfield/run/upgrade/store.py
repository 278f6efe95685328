"""The folders of upgrades, `upgrades/NAME/` under the reports folder: journals, records that count, the state."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import Reduced, utc
from levelfield.compare import sides
from levelfield.compare.upgrade import Phases
from levelfield.compare.upgrade_settings import hardware, identity
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.append_only import NamedJournals
from levelfield.report.units import duration, percent, plural
from levelfield.run.upgrade import progress
from levelfield.run.upgrade.progress import FORMAT, LAUNCHES, Begun, Boot, Event, Phase, State, fold
from levelfield.statistics.bracket import smallest_slowdown

MAX_BYTES = 16 << 20
"""Longest journal that is read: an event has a kilobyte or two."""
_ALL: NamedJournals[Event] = NamedJournals(
    "upgrade",
    "an",
    "upgrades",
    FORMAT,
    MAX_BYTES,
    msgspec.json.Decoder(Event),
    wait="Wait until that has ended: `levelfield upgrade status` says how far it is.",
    go_on="run `levelfield upgrade next`",
)
folder, names, open_journal, add = _ALL.folder, _ALL.names, _ALL.open, _ALL.add


def create(begun: Begun, reports: Path) -> State:
    """Make the folder of an upgrade and its journal; LevelfieldError: there is one, or it cannot be written."""
    _ALL.create(begun.name, reports, begun)
    return load(begun.name, reports)


def load(name: str, reports: Path) -> State:
    """Read an upgrade; LevelfieldError: there is none, or its journal is damaged or of a newer version."""
    return fold(_ALL.read(name, reports))


def load_own(name: str, reports: Path) -> State:
    """Read an upgrade to go on with it; LevelfieldError: as `load`, or it was not begun here, or was changed since."""
    events = _ALL.read(name, reports)
    state = fold(events)
    _ALL.check_own(state.begun, *events[1:])
    return state


def open_one(reports: Path) -> str:
    """Return the name of the one upgrade that is not done; empty: all are; LevelfieldError: none or several."""
    known = names(reports)
    if not known:
        raise LevelfieldError(
            f"There is no upgrade under {reports}.", fix="Begin one with `levelfield upgrade begin NAME`."
        )
    found = [name for name in known if load(name, reports).phase is not None]
    if len(found) > 1:
        raise LevelfieldError(f"{len(found)} upgrades are not done: {', '.join(found)}.", fix="Name one of them.")
    return found[0] if found else ""


def folder_of(run: str, reports: Path) -> Path:
    """Return the folder of a run that a journal names; LevelfieldError: it is a link to another one."""
    folder = reports / run
    if folder.resolve() != reports.resolve() / run:
        raise LevelfieldError(
            f"{folder} is a link, and no run's own folder.",
            fix="Bring the folder itself back, or begin another upgrade.",
        )
    return folder


def record_of(boot: Boot, reports: Path) -> Path:
    """Return the file of a boot's record; LevelfieldError: as `folder_of`."""
    return files.file_of(folder_of(boot.begun.run, reports))


def _is_gone(boot: Boot, reports: Path) -> bool:
    try:
        return not record_of(boot, reports).is_file()
    except LevelfieldError:
        return True


def check_records(state: State, reports: Path) -> None:
    """Refuse (LevelfieldError) to go on with runs that are gone or were changed."""
    for boot in state.boots:
        file = record_of(boot, reports)
        if not file.is_file():
            raise LevelfieldError(
                f"The run {boot.begun.run}, which the upgrade {state.begun.name} counts, is not in {reports}.",
                fix="Bring its folder back from a copy; without it, begin another upgrade.",
            )
        if digest(file) != boot.done.sha256:
            raise LevelfieldError(
                f"The record {file} was changed since the upgrade {state.begun.name} counted it.",
                fix="Bring the record back from a copy; without it, begin another upgrade.",
            )


def digest(file: Path) -> str:
    return hashlib.sha256(files.content_of(file)).hexdigest()


SPREADS = 0.005, 0.01
"""Between runs of ten launches that scatter by 1.6 and by 3.2 %; calm ones of a published default run: 2.4 to 5.5 %."""


def promise(begun: Begun) -> Iterator[str]:
    """Yield what every run measures, and how small a slowdown its verdicts can find; of a smoke run nothing."""
    if begun.selections[0].profile == SMOKE:
        return
    budget = begun.how.budget_seconds
    aims, within = ("aims at", f" within {duration(budget)}") if budget is not None else ("has", "")
    control = "" if begun.selections[0].control != "none" else ", and no control: the old side is compared with itself"
    yield f"Every {begun.replicate} {aims} {LAUNCHES} launches of each arm or more{within}{control}."
    smallest = (
        percent(
            smallest_slowdown(
                begun.boots,
                spread,
                cases=len(begun.plans[0].results),
                way_back=not begun.one_way,
                margin=begun.how.margin,
            )
        )
        for spread in SPREADS
    )
    found = " and ".join(
        f"of {each} where {begun.replicate}s scatter by {percent(spread)}"
        for each, spread in zip(smallest, SPREADS, strict=True)
    )
    yield f"{plural(begun.boots, begun.replicate)} a phase find, four times in five, a slowdown {found}."


def lines(state: State, reports: Path) -> Iterator[str]:
    """Yield the lines that show an upgrade: its phases, its runs, and what comes next in the last one."""
    begun = state.begun
    design = "old, new" if begun.one_way else "old, new, old"
    yield f"{begun.name}: {design}, {plural(begun.boots, begun.replicate)} each; begun {begun.at}"
    for phase in state.phases:
        measured = state.of_phase(phase)
        yield f"  {phase}: {len(measured)} of {begun.boots}"
        for boot in measured:
            gone = "  (its record is gone)" if _is_gone(boot, reports) else ""
            yield f"    {boot.begun.run}{gone}"
    for run in (*state.left, *([state.pending] if state.pending is not None else [])):
        how = "cut off, resumed by `next` in the same boot" if run is state.pending else "cut off, does not count"
        yield f"  {run.run}: {how}"
    yield progress.advice(state, reports)


def load_phases(state: State, reports: Path) -> Phases:
    """Read the runs of an upgrade; each must be the one that was counted.

    Raises LevelfieldError: one side was not measured yet, or a run is gone, was changed, or is not what is counted.
    """
    if not state.of_phase(Phase.BEFORE) or not state.of_phase(Phase.NEW):
        raise LevelfieldError(
            f"The upgrade {state.begun.name} has nothing to compare yet: both stacks must have been measured.",
            fix=progress.advice(state, reports),
        )
    check_records(state, reports)
    runs = sides.load_all([record_of(boot, reports) for boot in state.boots])
    for boot, run, last in zip(state.boots, runs, (None, *runs[:-1]), strict=True):
        if why := _contradiction(state, boot, run, last):
            raise LevelfieldError(
                f"The run {boot.begun.run} is not the one of the {boot.begun.side} stack that the upgrade "
                f"{state.begun.name} counts: {why}",
                fix="Bring its folder and the journal back from a copy; without them, begin another upgrade.",
            )
    return Phases(*([run for boot, run in zip(state.boots, runs, strict=True) if boot.phase is each] for each in Phase))


def _contradiction(state: State, boot: Boot, run: Reduced, last: Reduced | None) -> str:
    """Return in what a record contradicts the journal, or the record before it; empty where it does not."""
    if run.facts.id != boot.begun.run:
        return f"its record is of the run {run.facts.id[:100]}."
    try:
        if last is not None and utc(run.facts.started) <= utc(last.facts.started):
            return f"it did not begin after the run {last.facts.id}, which is counted before it."
        side = progress.recognise(state, identity(run.machine), hardware(run.machine))
    except LevelfieldError as error:
        return error.message
    return "" if state.begun.declared or side == boot.begun.side else f"its record shows the {side} one."

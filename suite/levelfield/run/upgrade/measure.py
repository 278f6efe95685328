"""`upgrade begin` and `upgrade next`: declare an upgrade, and measure one boot of it.

Which side a boot is of is seen by the fingerprint, never told by the user.
"""

import hashlib
import secrets
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from rich.console import Console

from levelfield import plan, terminals
from levelfield.analysis.status import SMOKE
from levelfield.compare.upgrade_settings import hardware, identity
from levelfield.errors import LevelfieldError
from levelfield.launchers.needs import choose
from levelfield.machine.fingerprint import fingerprint
from levelfield.machine.reading import ROOT, text
from levelfield.paths import tool_sha256
from levelfield.plan import Plan, Selection
from levelfield.plan.placement import AUTO
from levelfield.prepare.own_model import store as own_files
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import files, journal
from levelfield.record.append_only import AppendOnly
from levelfield.record.references import DEFAULT_VARIANT
from levelfield.record.schema import Absent, Image, Run
from levelfield.run import bench
from levelfield.run.options import Options, elsewhere
from levelfield.run.upgrade import progress, store
from levelfield.run.upgrade.progress import (
    FORMAT,
    LAUNCHES,
    Begun,
    Event,
    How,
    MeasurementBegun,
    MeasurementDone,
    Planned,
    Side,
    State,
)
from levelfield.schedule.outcomes import utc_now
from levelfield.statistics.bracket import LEAST_BOOTS
from levelfield.version import __version__

_BOOT_ID = Path("proc/sys/kernel/random/boot_id")


class Seen(msgspec.Struct, frozen=True):
    """What a boot shows of itself."""

    boot_id: str
    """Of the kernel, random(4). It identifies the boot of a machine: only a salted hash of it is kept."""
    identity: dict[str, str]
    """Of the software stack."""
    hardware: dict[str, str]
    at: str
    """UTC, ISO 8601."""

    def boot(self, salt: str) -> str:
        """Return the salted hash of the boot's id, by which `next` knows a boot again."""
        return hashlib.sha256(f"{salt}\n{self.boot_id}".encode()).hexdigest()[:32]


def see(cpus: Sequence[int]) -> Seen:
    """Look at this boot; LevelfieldError: the kernel does not say which boot this is."""
    boot_id = text(ROOT / _BOOT_ID)
    if isinstance(boot_id, Absent):
        raise LevelfieldError(
            f"The kernel does not say which boot this is ({boot_id.reason}).",
            fix="Run it where /proc/sys/kernel/random/boot_id can be read.",
        )
    machine = fingerprint(cpus)
    return Seen(boot_id=boot_id, identity=identity(machine), hardware=hardware(machine), at=utc_now())


See: TypeAlias = Callable[[Sequence[int]], Seen]
"""Looks at this boot; takes the CPUs of the plan."""


def begin(
    name: str,
    options: Options,
    console: Console,
    *,
    boots: int,
    one_way: bool = False,
    sides: Sequence[str] = (),
    see: See = see,
) -> State:
    """Declare an upgrade, on the old stack; LevelfieldError: there is such an upgrade, or it cannot be planned."""
    if options.data_sets:
        raise LevelfieldError(
            "An upgrade compares speed: answers to a data set are judged by `levelfield bench`.",
            fix=f"Leave --data {options.data_sets[0].task}=… out.",
        )
    if boots < LEAST_BOOTS and options.selection.profile != SMOKE:
        raise LevelfieldError(
            f"A verdict on speed takes {LEAST_BOOTS} boots a phase: fewer can agree by chance.",
            fix=f"Leave --boots out or name {LEAST_BOOTS} or more; --profile smoke tries the procedure with fewer.",
        )
    launcher, reason = choose(options.launcher, base=options.base)
    if reason:
        terminals.say(console, reason)
    selections = tuple(msgspec.structs.replace(options.selection, backends=(each,)) for each in sides)
    selections = tuple(plan.found_here(each, launcher.kind) for each in selections or (options.selection,))
    plans = tuple(map(_plan, selections))
    selections = tuple(map(_fixed, selections, plans))
    seen = see(plans[0].cpus)
    return store.create(
        Begun(
            format=FORMAT,
            name=name,
            at=seen.at,
            tool_version=__version__,
            tool_sha256=tool_sha256(),
            selections=selections,
            plans=tuple(map(_planned, plans)),
            how=How(launcher.kind, *(getattr(options, name) for name in How.__struct_fields__[1:])),
            boots=boots,
            one_way=one_way,
            salt=secrets.token_hex(16),
            identity=seen.identity,
            hardware=seen.hardware,
        ),
        options.reports,
    )


def advance(name: str, reports: Path, console: Console, *, see: See = see) -> State:
    """Measure this boot, where it is to be measured, and say what comes next in the last line.

    Raises LevelfieldError: nothing was measured, or it was cut off; what is on the disk is kept, and `next` goes on
    with it.
    """
    store.load_own(name, reports)  # an unknown name must not make a journal
    with store.open_journal(name, reports) as written:
        state = store.load_own(name, reports)
        if state.pending is not None and _is_complete(store.folder_of(state.pending.run, reports)):
            _count(state.pending.run, reports, written, console)  # killed between the run's end and this journal's line
            state = store.load(name, reports)
        store.check_records(state, reports)
        _check_tool(state.begun)
        seen = see(state.begun.plans[0].cpus)
        which = progress.recognise(state, seen.identity, seen.hardware)
        boot = seen.boot(state.begun.salt)
        match progress.step(state, progress.Here(boot, which, seen.at)):
            case progress.Nothing(reason=reason):
                if reason:
                    terminals.say(console, reason)
            case progress.Resume(run=run):
                folder = store.folder_of(run, reports)
                made = journal.fold(journal.read(folder / files.JOURNAL))
                _check_run(made, state.begun)
                bench.conduct(plan.of_record(made), _options(state.begun, reports), console, resumed=(folder, made))
                _count(run, reports, written, console)
            case progress.Measure(phase=phase):
                terminals.say(console, f"{name}: phase {phase}, {which} stack.")
                chosen = _planned_again(state.begun, which)

                def prepared(images: Iterable[Image]) -> None:
                    _check_images(state, which, _tags(images))
                    progress.step(state, progress.Here(boot, which, utc_now()))  # the clock may have been set since

                def begun(folder: Path) -> None:
                    tags = _tags(journal.fold(journal.read(folder / files.JOURNAL)).images)
                    store.add(written, MeasurementBegun(utc_now(), boot, folder.name, which, seen.identity, tags))

                folder = bench.conduct(
                    chosen,
                    _options(state.begun, reports),
                    console,
                    prepared=prepared,
                    begun=begun,
                )
                _count(folder.name, reports, written, console)
    state = store.load(name, reports)
    terminals.say(console, progress.advice(state, reports))
    return state


def _is_complete(folder: Path) -> bool:
    """Return whether a run measured all it should; its page may still be missing."""
    try:
        if not (folder / files.JOURNAL).is_file():
            return files.read(folder).finished is not None
        return journal.fold(journal.read(folder / files.JOURNAL)).finished is not None
    except LevelfieldError:
        return False  # deleted or damaged: it is left


def _count(run: str, reports: Path, written: AppendOnly[Event], console: Console) -> None:
    """Write the record and the report of a complete run, and count it."""
    folder = store.folder_of(run, reports)
    if (folder / files.JOURNAL).is_file():  # killed after that: the page is there
        bench.finish(folder, console)
    store.add(written, MeasurementDone(utc_now(), run, store.digest(folder)))


def _check_run(made: Run, begun: Begun) -> None:
    """Refuse to go on with a run that measures otherwise than the upgrade: it says where its workers are."""
    if (made.command, made.settings.launcher) != ((*bench.OF_AN_UPGRADE, begun.name), begun.how.launcher):
        raise LevelfieldError(
            f"The run {made.id} is not of the upgrade {begun.name}.",
            fix="Bring its folder back from a copy, or begin another upgrade.",
        )


def _options(begun: Begun, reports: Path) -> Options:
    return Options(
        reports=reports,
        command=(*bench.OF_AN_UPGRADE, begun.name),
        go_on=f"levelfield upgrade next {shlex.quote(begun.name)}{elsewhere(reports)}, in this boot",
        **msgspec.structs.asdict(begun.how),
    )


def _fixed(selection: Selection, made: Plan) -> Selection:
    """Return a selection that asks for what was chosen for it here, where another driver would have more to offer."""
    if selection.variant != AUTO:
        return selection
    if made.gpu is None:
        return msgspec.structs.replace(selection, variant=DEFAULT_VARIANT)
    backends = made.backends if selection.locked else selection.backends  # what is installed has no variant to name
    return msgspec.structs.replace(selection, backends=backends, gpu=selection.gpu or str(made.gpu))


def _planned(made: Plan) -> Planned:
    results = tuple(f"{arm.id}/{block.case.id}" for block in made.blocks for arm in block.arms)
    return Planned(results=results, cpus=made.cpus, gpu=made.gpu)


def _planned_again(begun: Begun, which: Side) -> Plan:
    """Plan what a side measures, and refuse a plan that is no longer the one that was declared."""
    index = int(begun.declared and which == "new")
    made = _plan(_found(begun.selections[index]))
    was, now = begun.plans[index], _planned(made)
    if was == now:
        return made
    gone = [each for each in was.results if each not in now.results]
    added = [each for each in now.results if each not in was.results]
    if gone or added:
        what = f"without {gone[0]}" if gone else f"with {added[0]} besides"
    elif was.cpus != now.cpus:
        what = f"on CPUs {_listed(now.cpus)} and not {_listed(was.cpus)}"
    else:
        what = f"on GPU {now.gpu} and not {was.gpu}"
    raise LevelfieldError(
        f"This boot would be measured otherwise than the upgrade {begun.name} was planned: {what}.",
        fix="Bring back what was there when it was begun, or begin another upgrade and name its --backends, "
        "--variant and --threads.",
    )


def _plan(selection: Selection) -> Plan:
    made = plan.make(selection)
    if made.profile.name == SMOKE:
        return made
    return plan.with_timed_launches(made, max(LAUNCHES, made.profile.generations))


def _listed(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def _found(selection: Selection) -> Selection:
    """Return the selection with the user's own file and weights as they are found here."""
    return msgspec.structs.replace(
        selection,
        own=own_files.find_recorded(selection.own) if selection.own is not None else None,
        own_weights=tuple(map(own_weights.find_recorded, selection.own_weights)),
    )


def _tags(images: Iterable[Image]) -> dict[str, str]:
    return {" ".join(filter(None, (each.launcher, each.name, each.variant))): each.tag for each in images}


def _check_images(state: State, which: Side, tags: dict[str, str]) -> None:
    """Refuse images that are not those of the boots before; of image sets that stand for sides, those of this side."""
    for boot in state.boots:
        if state.begun.declared and boot.begun.side != which:
            continue
        for image, tag in boot.begun.images.items():
            if tags.get(image, tag) != tag:
                raise LevelfieldError(
                    f"The image {image} is {tags[image]} now, and was {tag} in the run {boot.begun.run}.",
                    fix="Bring back the Levelfield and the locks that it was built from, or begin another upgrade.",
                )


def _check_tool(begun: Begun) -> None:
    if (begun.tool_version, begun.tool_sha256) != (__version__, tool_sha256()):
        raise LevelfieldError(
            f"The upgrade {begun.name} was begun with Levelfield {begun.tool_version} "
            f"({begun.tool_sha256[:12]}), and this is {__version__} ({tool_sha256()[:12]}): what measures must stay "
            "the same.",
            fix="Use that one again, or begin another upgrade.",
        )

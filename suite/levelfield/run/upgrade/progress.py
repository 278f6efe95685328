"""Where an upgrade stands, and what comes next: what its journal holds, and a pure fold of it.

The phases are *before* (the old stack), *new*, and *after* (the old stack again), each of so many boots. A boot counts
once its run is complete. A run that was cut off is resumed within the same boot, and in another one it is left: windows
of two boots are never mixed.
"""

import enum
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from levelfield.compare.upgrade import Design
from levelfield.errors import LevelfieldError
from levelfield.images.base import Source
from levelfield.plan import Selection
from levelfield.record.append_only import Beginning, Lost
from levelfield.report.units import plural
from levelfield.run.options import elsewhere

FORMAT = 2
"""Version of the journal: a reader refuses a newer one."""

MOST_NAMED = 4
"""Differences that a message names."""
LAUNCHES = 10
"""Fewest launches of each arm in a run, where a budget has time for them. With five, one launch without a calm window
makes a run one of all windows: simulated, such runs scatter by 9 %, and calm ones of ten launches by 0.4 to 0.6 %."""

Side: TypeAlias = Literal["old", "new"]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]
_RunId: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A\d{8}-\d{6}-[A-Za-z0-9._-]{1,180}\Z")]
"""Of a folder under the reports folder, and of nothing else: a journal is not trusted."""


class Planned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every run of a side measures."""

    results: tuple[str, ...]
    """Ids of arm and case, in their order."""
    cpus: tuple[int, ...]
    gpu: int | None = None


class How(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How every run measures: the options of `bench` that are no part of the plan."""

    launcher: str | None = None
    base: Source = "debian"
    budget_seconds: float | None = None
    precision_target: float | None = None
    margin: float = 0.02
    identify: bool = False
    target: float | None = None


class Begun(Beginning, frozen=True, forbid_unknown_fields=True, tag="begun"):
    """The upgrade as it was declared, on the old stack."""

    format: int
    at: str
    """UTC, ISO 8601, as in every event."""
    tool_version: str
    tool_sha256: str
    selections: tuple[Selection, ...]
    """One; or those of the old and the new side, where image sets stand for the sides."""
    plans: tuple[Planned, ...]
    """Of each selection."""
    how: How
    boots: Annotated[int, msgspec.Meta(ge=1, le=100)]
    """In each phase."""
    one_way: bool
    """There is no going back: old, new."""
    salt: str
    """What boot ids are hashed with: they identify a machine's boot, and are not kept themselves."""
    identity: dict[str, str]
    """Of the old software stack."""
    hardware: dict[str, str]
    """Of the machine."""

    @property
    def declared(self) -> bool:
        """Whether image sets stand for the sides, and a run for a boot."""
        return len(self.selections) > 1

    @property
    def replicate(self) -> Literal["run", "boot"]:
        """What a phase has so many of: `boot`, or `run` where a run stands for a boot."""
        return "run" if self.declared else "boot"


class MeasurementBegun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measuring"):
    """The run of a boot has its folder; nothing is measured yet."""

    at: str
    boot: _Text
    """Salted hash of the boot's id."""
    run: _RunId
    side: Side
    identity: dict[str, str]
    images: dict[str, str]
    """Launcher, name and variant of each image to its tag, which is a digest of what is in it."""
    seal: _Text = ""


class MeasurementDone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measured"):
    """The run of a boot is complete, and counts."""

    at: str
    run: _RunId
    sha256: _Text
    """Of its record."""
    seal: _Text = ""


Event: TypeAlias = Begun | MeasurementBegun | MeasurementDone


class Phase(enum.StrEnum):
    BEFORE = "before"
    NEW = "new"
    AFTER = "after"


class Boot(msgspec.Struct, frozen=True):
    """A boot that counts."""

    begun: MeasurementBegun
    done: MeasurementDone
    phase: Phase


class State(msgspec.Struct, frozen=True):
    """An upgrade in progress, or done."""

    begun: Begun
    boots: tuple[Boot, ...]
    """In the order in which they were measured."""
    pending: MeasurementBegun | None
    """The last run, where it was cut off and may be resumed."""
    left: tuple[MeasurementBegun, ...]
    """Runs that were cut off and are not resumed; they stay on the disk and do not count."""
    last_at: str
    """Latest time of an event: a run may end earlier than it began, by a clock that was set meanwhile."""

    def of_phase(self, phase: Phase) -> tuple[Boot, ...]:
        """Return the boots of a phase that count."""
        return tuple(boot for boot in self.boots if boot.phase is phase)

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (Phase.BEFORE, Phase.NEW) if self.begun.one_way else tuple(Phase)

    @property
    def phase(self) -> Phase | None:
        """The first phase that is not complete; None: all are."""
        return next(iter(self._missing), None)

    @property
    def design(self) -> Design:
        """What the verdict depends on."""
        begun = self.begun
        missing = (f"{plural(count, begun.replicate)} of the phase {phase}" for phase, count in self._missing.items())
        design = Design(begun.how.margin, begun.one_way, begun.replicate, to_come=" and ".join(missing))
        if not begun.declared:
            return design
        old, new = (", ".join(each.backends) for each in begun.selections)
        return msgspec.structs.replace(design, sides=(old, new))

    def missing(self, phase: Phase) -> int:
        return self._missing.get(phase, 0)

    @property
    def _missing(self) -> dict[Phase, int]:
        """How many boots of each phase are still to be measured; phases that are complete are left out.

        Where there is no going back, the old stack has no boots to come once the new one was measured.
        """
        closed = self.begun.one_way and self.of_phase(Phase.NEW)
        phases = [phase for phase in self.phases if phase is not Phase.BEFORE or not closed]
        found = {phase: self.begun.boots - len(self.of_phase(phase)) for phase in phases}
        return {phase: count for phase, count in found.items() if count > 0}

    @property
    def new_identity(self) -> dict[str, str] | None:
        """The new software stack, as its first boot that counts showed it; None: there is none yet."""
        return next((boot.begun.identity for boot in self.of_phase(Phase.NEW)), None)


def fold(events: Iterable[Event | Lost]) -> State:
    """Build the state from a journal.

    Raises LevelfieldError: a line is damaged, or a run counts that is counted before, or that `next` would not have
    measured. Runs that were measured are not touched.
    """
    stream = iter(events)
    first = next(stream, None)
    if not isinstance(first, Begun):
        raise _damaged("does not begin with the start of an upgrade")
    boots: list[Boot] = []
    left: list[MeasurementBegun] = []
    named: set[str] = set()
    pending: MeasurementBegun | None = None
    before = at = first.at
    for event in stream:
        match event:
            case MeasurementBegun():
                left += [pending] if pending is not None else []
                if event.run in named:
                    raise _damaged(f"begins the run {event.run} twice")
                named.add(event.run)
                pending, before, at = event, at, max(at, event.at)
            case MeasurementDone():
                if pending is None or pending.run != event.run:
                    raise _damaged(f"counts the run {event.run}, which it did not begin, or counted before")
                same = next((boot.done.run for boot in boots if boot.done.sha256 == event.sha256), None)
                if same is not None:
                    raise _damaged(f"counts one record twice, as the runs {same} and {event.run}")
                phase = _phase(State(first, tuple(boots), None, (), before), pending)
                boots.append(Boot(pending, event, phase))
                pending, at = None, max(at, event.at)
            case Begun():
                raise _damaged("holds two upgrades")
            case Lost(line=line):
                raise _damaged(f"is damaged in line {line}")
    return State(begun=first, boots=tuple(boots), pending=pending, left=tuple(left), last_at=at)


def _phase(state: State, run: MeasurementBegun) -> Phase:
    """Return which phase a run counts for; LevelfieldError: `next` would not have measured it."""
    try:
        decided = step(state, Here(run.boot, run.side, run.at))
        if isinstance(decided, Measure):
            return decided.phase
        reason = decided.reason if isinstance(decided, Nothing) else ""
    except LevelfieldError as error:
        reason = error.message
    reason = reason.rstrip(".") or "Every phase has all its boots"
    raise _damaged(f"counts the run {run.run}, which `next` would not have measured: {reason}")


def recognise(state: State, identity: Mapping[str, str], hardware: Mapping[str, str]) -> Side:
    """Return which side a boot is, by its stack and machine; LevelfieldError: another machine, or a third stack."""
    begun = state.begun
    if other := _differing(begun.hardware, hardware):
        raise LevelfieldError(
            f"This is not the machine on which the upgrade {begun.name} was begun ({other}).",
            fix="Run it on that machine, or begin another upgrade here.",
        )
    from_old = _differing(begun.identity, identity)
    if begun.declared:
        if from_old:
            raise LevelfieldError(
                f"This machine's own stack changed since the upgrade {begun.name} was begun ({from_old}), and its "
                "sides are image sets.",
                fix="Bring the old stack back, or begin another upgrade.",
            )
        return "new" if state.phase is Phase.NEW else "old"
    if not from_old:
        return "old"
    new = state.new_identity
    if from_new := _differing(new, identity) if new is not None else "":
        raise LevelfieldError(
            f"This is a third stack: it differs from the old one ({from_old}) and from the new one ({from_new}).",
            fix="Bring the old or the new stack back; to measure a third one, begin another upgrade.",
        )
    return "new"


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """`kernel, release: 6.1.0 became 6.12.0`, the first of them; empty where there are none.

    A fact that one of the two does not know is no difference: a container engine may not have started yet.
    """
    found = [f"{name}: {value} became {now[name]}" for name, value in before.items() if now.get(name, value) != value]
    rest = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return "; ".join(found[:MOST_NAMED]) + rest


def without_way_back(state: State) -> State:
    """Return an upgrade that was begun with a way back as one without.

    Raises LevelfieldError: the old stack was measured after the new one: there was a way back.
    """
    if after := state.of_phase(Phase.AFTER):
        raise LevelfieldError(
            f"The old stack was measured again in {plural(len(after), 'boot')}, so that there is a way back.",
            fix=f"Leave --one-way out. {advice(state)}",
        )
    return msgspec.structs.replace(state, begun=msgspec.structs.replace(state.begun, one_way=True))


def _damaged(what: str) -> LevelfieldError:
    return LevelfieldError(
        f"The journal of the upgrade {what}.",
        fix="Bring the file back from a copy, or begin another upgrade: its runs are kept and are not touched.",
    )


class Here(msgspec.Struct, frozen=True):
    """What `next` sees of this boot."""

    boot: str
    """Salted hash of the boot's id."""
    side: Side
    at: str


class Measure(msgspec.Struct, frozen=True):
    """This boot is measured by a run of its own."""

    phase: Phase


class Resume(msgspec.Struct, frozen=True):
    """The run of this boot was cut off, and goes on."""

    run: str


class Nothing(msgspec.Struct, frozen=True):
    """Nothing is to be measured in this boot."""

    reason: str
    """Why, as a sentence; empty where what comes next says it all."""


Step: TypeAlias = Measure | Resume | Nothing


def step(state: State, here: Here) -> Step:
    """Decide what this boot is for; LevelfieldError: the clock went back, or this side does not come next."""
    phase = state.phase
    if phase is None:
        return Nothing("")
    measured = next((boot for boot in state.boots if boot.begun.boot == here.boot), None)
    if measured is not None and not state.begun.declared:
        return Nothing(f"This boot was measured before, by the run {measured.begun.run}.")
    pending = state.pending
    if pending is not None and (pending.boot, pending.side) == (here.boot, here.side):
        return Resume(pending.run)
    if here.at < state.last_at:
        raise LevelfieldError(
            f"This machine's clock says {here.at}, and the upgrade has an event of {state.last_at}.",
            fix="Set the clock (`timedatectl` shows whether it is synchronised), then run `levelfield upgrade next`.",
        )
    _check_order(state, here.side)
    expected: Side = "new" if phase is Phase.NEW else "old"
    if here.side != expected and not (state.begun.one_way and here.side == "new"):
        return Nothing(f"The {here.side} stack runs, which has all its boots.")
    return Measure(phase if here.side == expected else Phase.NEW)


def _check_order(state: State, side: Side) -> None:
    """Refuse a stack that would leave a phase behind which can never be completed."""
    new, after = len(state.of_phase(Phase.NEW)), len(state.of_phase(Phase.AFTER))
    boots = state.begun.boots
    if side == "new" and after:
        raise LevelfieldError(
            "The new stack runs again, after the old one was measured a second time.",
            fix="Go back to the old stack, and reboot; or begin another upgrade.",
        )
    before = len(state.of_phase(Phase.BEFORE))
    if side == "new" and not before:
        raise LevelfieldError(
            "This is not the stack on which the upgrade was begun, and that one was not measured in any boot.",
            fix="Go back to the old stack, reboot, and run `levelfield upgrade next` there.",
        )
    if side == "new" and before < boots and not state.begun.one_way:
        raise LevelfieldError(
            f"The new stack runs, and the old one was measured in {before} of {plural(boots, 'boot')}.",
            fix=f"Go back to the old stack first: {plural(boots - before, 'more boot')} there.",
        )
    if side == "old" and 0 < new < boots:
        raise LevelfieldError(
            f"The old stack runs, and the new one was measured in {new} of {plural(boots, 'boot')}.",
            fix=f"Install the new stack again, and reboot: {plural(boots - new, 'more boot')} there.",
        )


def advice(state: State, reports: Path = Path("reports")) -> str:
    """Say in one sentence what the operator does next."""
    there = elsewhere(reports)
    name, boots = shlex.quote(state.begun.name), plural(state.begun.boots, "boot")
    phase = state.phase
    again = f"levelfield upgrade next {name}{there}"
    if phase is None:
        return f"Done: levelfield upgrade verdict {name}{there}"
    missing = state.missing(phase)
    if state.begun.declared:
        backends = ", ".join(state.begun.selections[phase is Phase.NEW].backends)
        return f"Next: {again} (or --all): {plural(missing, 'run')} of {backends}."
    if not state.boots:
        return f"Next: {again} in this boot and after each reboot: {boots} on this side."
    if state.of_phase(phase):
        return f"Next: reboot, {plural(missing, 'more boot')} on this side."
    if phase is Phase.NEW:
        return f"Next: install the new driver, kernel or whatever is to be upgraded, then reboot: {boots} on that side."
    return f"Next: go back to the old stack, then reboot: {boots} there."

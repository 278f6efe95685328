"""The append-only journal of a run in progress, flushed to disk after every event, and its fold into a record.

`fold` is the only way to build a record, whether the run finished, was killed, or was resumed. An incomplete last line,
left by a kill, is dropped. Where any other line is damaged, the rest of its generation is ignored and the record has a
warning.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from levelfield import untrusted
from levelfield.errors import LevelfieldError
from levelfield.record import warnings as notices
from levelfield.record.append_only import AppendOnly, Lost, read_lines
from levelfield.record.disturbance import Disturbed, Watched
from levelfield.record.schema import (
    Absent,
    Accuracy,
    Block,
    Generation,
    Image,
    Launch,
    MachineLevels,
    MachineProbe,
    Roofline,
    Round,
    Run,
    Turn,
    Warning_,
)


class Started(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="started"):
    """The run without its results: blocks planned, none measured."""

    run: Run


class Resumed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="resumed"):
    at: str
    budget_seconds: float | None = None
    """New budget, of what is measured from here on; None: the run keeps the one that it had."""


class GenerationBegun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="generation"):
    block: str
    index: int
    seed: int


class LaunchDone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="launch"):
    """A worker is ready and verified, or has failed; a later event of the same arm replaces it (it adds memory)."""

    block: str
    generation: int
    launch: Launch


class TurnTaken(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="turn"):
    block: str
    generation: int
    round: int
    turn: Turn


class RoundDone(Watched, frozen=True, tag="round"):
    block: str
    generation: int
    round: int
    disturbed: Disturbed = ()
    repeats: int = 0


class LevelsKnown(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="levels"):
    """The low modes of the machine's probes at the end of a generation's rounds."""

    block: str
    generation: int
    levels: MachineLevels
    looked: tuple[MachineProbe, ...] = ()
    """Probes that are of no turn, since the event of this kind before."""


class GenerationDone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="generation-done"):
    block: str
    index: int


class ImageKnown(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="image"):
    image: Image


class RooflineKnown(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="roofline"):
    roofline: tuple[Roofline, ...] | Absent


class AccuracyKnown(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="accuracy"):
    """An arm has answered a data set, or failed to; what was known of it before is replaced."""

    accuracy: Accuracy


class Warned(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="warning"):
    warning: Warning_


class TimeSpent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="time-spent"):
    """Seconds of each phase since the event of this kind before."""

    seconds: dict[str, float]


class Finished(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="finished"):
    at: str
    supervisor_window_share: float | Absent


Event: TypeAlias = (
    Started
    | Resumed
    | GenerationBegun
    | LaunchDone
    | TurnTaken
    | RoundDone
    | LevelsKnown
    | GenerationDone
    | ImageKnown
    | RooflineKnown
    | AccuracyKnown
    | Warned
    | TimeSpent
    | Finished
)

MAX_BYTES = 2 * 1024 * 1024 * 1024
"""Longest journal that is read: it is longer than its record by what was measured again."""


_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Journal(AppendOnly[Event]):
    """The open journal of a run, as `AppendOnly` says; `path` lies in the run's folder, and is made if need be."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            busy=f"The run {path.parent.name} is being measured",
            wait="Wait until it has ended, or end it; then go on with --resume.",
            unwritable="Free space on that disk or choose another folder with --reports, then go on with --resume.",
        )


def read(path: Path) -> list[Event | Lost]:
    """Read a journal's events, with `Lost` for each line that cannot be read.

    Raises LevelfieldError: there is no journal.
    """
    try:
        return read_lines(untrusted.read_plain(path, MAX_BYTES, inside=path.parent), _decoder)
    except OSError as error:
        raise LevelfieldError(
            f"There is no journal to read at {path}: {error.strerror or error}.",
            fix="Name a folder under reports/ that holds a journal.jsonl.",
        ) from error


def fold(events: Iterable[Event | Lost]) -> Run:
    """Build the record from these events.

    A generation in which a line is lost keeps the rounds that were complete before that line, and is not complete
    itself, so that `--resume` measures it again.

    Raises LevelfieldError: the first event is not the start of a run, or an event belongs to something that never
    began.
    """
    stream = iter(events)
    first = next(stream, None)
    if not isinstance(first, Started):
        raise LevelfieldError(
            "The journal does not begin with the start of a run, so there is nothing to read.",
            fix="The run stopped before its plan was written; start a new one.",
        )
    run = first.run
    blocks = {block.case.id: _OpenBlock(block) for block in run.blocks}
    images = {(image.launcher, image.name, image.variant): image for image in run.images}
    known = list(run.warnings)
    warned = set(known)
    accuracies: dict[tuple[str, ...], Accuracy] = {}
    lost: list[int] = []
    resumed: list[str] = []
    finished: Finished | None = None
    spent_s: dict[str, float] = {}
    for event in stream:
        match event:
            case Started():
                raise LevelfieldError("The journal holds two runs.", fix="Start a new run in a fresh folder.")
            case Resumed(at=at, budget_seconds=more_s):
                resumed.append(at)
                finished = None
                known = [warning for warning in known if warning.code not in notices.OF_AN_END]
                warned = set(known)
                if more_s is not None:
                    budget_s = round(measured_s(spent_s) + more_s, 3)
                    clock_s = None if run.settings.clock_seconds is None else budget_s
                    settings = msgspec.structs.replace(run.settings, budget_seconds=budget_s, clock_seconds=clock_s)
                    run = msgspec.structs.replace(run, settings=settings)
            case ImageKnown(image=image):
                images[image.launcher, image.name, image.variant] = image
            case RooflineKnown(roofline=roofline):
                run = msgspec.structs.replace(run, roofline=roofline)
            case AccuracyKnown(accuracy=accuracy):
                accuracies[accuracy.task, accuracy.model, accuracy.precision, accuracy.device, accuracy.arm] = accuracy
            case Warned(warning=warning):
                if warning not in warned:
                    warned.add(warning)
                    known.append(warning)
            case TimeSpent(seconds=seconds):
                for name, of_phase_s in seconds.items():
                    spent_s[name] = spent_s.get(name, 0.0) + of_phase_s
            case Lost(line=line):
                lost.append(line)
            case Finished():
                finished = event
            case _:
                try:
                    blocks[event.block].take(event, len(lost))
                except KeyError as error:
                    raise LevelfieldError(
                        f"The journal tells of {event.block} what it has not begun ({error}).",
                        fix="The file was changed or damaged; start a new run.",
                    ) from error
    if lost:
        known.append(notices.journal_damaged(lost))
    return msgspec.structs.replace(
        run,
        blocks=tuple(block.close() for block in blocks.values()),
        images=tuple(images.values()),
        warnings=tuple(known),
        accuracies=tuple(accuracies.values()),
        resumed=tuple(resumed),
        finished=finished.at if finished else None,
        supervisor_window_share=finished.supervisor_window_share if finished else run.supervisor_window_share,
        time_spent_s=spent_s or run.time_spent_s,
    )


def measured_s(spent_s: Mapping[str, float] | None) -> float:
    """Return how much of the time that phases took counts towards a budget, in seconds."""
    return sum(of_phase_s for phase, of_phase_s in (spent_s or {}).items() if phase != "preparing")


class _OpenGeneration:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.launches: dict[str, Launch] = {}
        self.turns: dict[int, list[Turn]] = {}
        self.done: dict[int, RoundDone] = {}
        self.levels: MachineLevels | None = None
        self.looked: list[MachineProbe] = []
        self.complete = False


class _OpenBlock:
    def __init__(self, block: Block) -> None:
        self.block = block
        self.generations: dict[int, _OpenGeneration] = {}
        self._lost = 0

    def take(
        self, event: GenerationBegun | LaunchDone | TurnTaken | RoundDone | LevelsKnown | GenerationDone, lost: int
    ) -> None:
        """Take an event before which so many lines are lost.

        If one was lost since the generation began, events are ignored until the next begins: it may be one of them.
        """
        if lost > self._lost and not isinstance(event, GenerationBegun):
            return
        match event:
            case GenerationBegun():
                self._lost = lost
                self.generations[event.index] = _OpenGeneration(event.seed)
            case LaunchDone():
                self.generations[event.generation].launches[event.launch.arm] = event.launch
            case TurnTaken():
                self.generations[event.generation].turns.setdefault(event.round, []).append(event.turn)
            case RoundDone():
                self.generations[event.generation].done[event.round] = event
            case LevelsKnown():
                self.generations[event.generation].levels = event.levels
                self.generations[event.generation].looked.extend(event.looked)
            case GenerationDone():
                self.generations[event.index].complete = True

    def close(self) -> Block:
        """Return the block with its complete rounds only: half a round would compare arms at different times."""
        return msgspec.structs.replace(
            self.block,
            generations=tuple(
                Generation(
                    index=index,
                    seed=opened.seed,
                    launches=tuple(opened.launches.values()),
                    rounds=tuple(
                        Round(
                            index=number,
                            turns=tuple(opened.turns.get(number, ())),
                            disturbed=done.disturbed,
                            repeats=done.repeats,
                        )
                        for number, done in sorted(opened.done.items())
                    ),
                    complete=opened.complete,
                    levels=opened.levels,
                    looked=tuple(opened.looked),
                )
                for index, opened in sorted(self.generations.items())
            ),
        )

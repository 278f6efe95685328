"""The append-only journal of a run in progress, flushed to disk after every event, and its fold into a record.

A record is nothing but its journal, folded: there is one way to build it, for a run that ended well, for one that was
killed, and for one that was taken up again. A last line cut off by a kill is dropped; a broken line elsewhere is an
error.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import msgspec

from suite.errors import LevelfieldError
from suite.records.schema import (
    Absent,
    Artifact,
    Block,
    Generation,
    Image,
    Launch,
    Roofline,
    Round,
    Run,
    Turn,
    Warning_,
)


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The run without its results: blocks planned, none measured."""

    run: Run


class Resumed(msgspec.Struct, frozen=True, tag="resumed"):
    at: str


class GenerationBegun(msgspec.Struct, frozen=True, tag="generation"):
    block: str
    index: int
    seed: int


class LaunchDone(msgspec.Struct, frozen=True, tag="launch"):
    """A worker is up and verified, or has failed; a later one for the same arm replaces it (memory read at the end)."""

    block: str
    generation: int
    launch: Launch


class TurnTaken(msgspec.Struct, frozen=True, tag="turn"):
    block: str
    generation: int
    round: int
    turn: Turn


class RoundDone(msgspec.Struct, frozen=True, tag="round"):
    block: str
    generation: int
    round: int
    disturbed: str = ""
    repeats: int = 0


class GenerationDone(msgspec.Struct, frozen=True, tag="generation-done"):
    block: str
    index: int


class ImageKnown(msgspec.Struct, frozen=True, tag="image"):
    image: Image


class ArtifactKnown(msgspec.Struct, frozen=True, tag="artifact"):
    artifact: Artifact


class RooflineKnown(msgspec.Struct, frozen=True, tag="roofline"):
    roofline: tuple[Roofline, ...] | Absent


class Warned(msgspec.Struct, frozen=True, tag="warning"):
    warning: Warning_


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    at: str
    supervisor_window_share: float | Absent


Event: TypeAlias = (
    Started
    | Resumed
    | GenerationBegun
    | LaunchDone
    | TurnTaken
    | RoundDone
    | GenerationDone
    | ImageKnown
    | ArtifactKnown
    | RooflineKnown
    | Warned
    | Finished
)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


class Journal:
    """An open journal; every `write` is on the disk when it returns.

    Raises
    ------
    LevelfieldError
        When the folder cannot be written, or the disk is full: what was written before is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._drop_torn_tail()
            self._file = path.open("ab", buffering=0)  # a buffer would be flushed again, and fail again, on closing
        except OSError as error:
            raise _cannot_write(path, error) from error

    def _drop_torn_tail(self) -> None:
        """A kill in the middle of a write leaves half a line; what is appended next must begin on a fresh one."""
        if not self.path.exists():
            return
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole != len(text):
            with self.path.open("r+b") as file:
                file.truncate(whole)

    def write(self, event: Event) -> None:
        line = memoryview(_encoder.encode(event) + b"\n")
        try:
            before = os.fstat(self._file.fileno()).st_size
            try:
                while line:  # a disk that fills up takes a part of the line, and refuses the rest
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(before)
                raise
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cannot_write(path: Path, error: OSError) -> LevelfieldError:
    return LevelfieldError(
        f"The journal {path} cannot be written: {error.strerror or error}.",
        fix="Free space on that disk or choose another folder with --reports, then go on with --resume.",
    )


def read(path: Path) -> list[Event]:
    """Read a journal's events.

    Raises
    ------
    LevelfieldError
        When there is no journal, or a line that is not the last one is not an event.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise LevelfieldError(
            f"There is no journal to read at {path}: {error.strerror or error}.",
            fix="Name a folder under reports/ that holds a journal.jsonl.",
        ) from error
    events: list[Event] = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last newline is nothing, or torn
        try:
            events.append(_decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise LevelfieldError(
                f"Line {number} of {path} is not a journal entry ({error}).",
                fix="The file was changed or damaged; start a new run.",
            ) from error
    return events


def fold(events: Iterable[Event]) -> Run:
    """Build the record that these events tell.

    Raises
    ------
    LevelfieldError
        When the first event is not the start of a run, or an event is about something that never began.
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
    artifacts = {artifact.name: artifact for artifact in run.artifacts}
    warnings = list(run.warnings)
    resumed: list[str] = []
    finished: Finished | None = None
    for event in stream:
        match event:
            case Started():
                raise LevelfieldError("The journal holds two runs.", fix="Start a new run in a fresh folder.")
            case Resumed(at=at):
                resumed.append(at)
                finished = None
            case ImageKnown(image=image):
                images[image.launcher, image.name, image.variant] = image
            case ArtifactKnown(artifact=artifact):
                artifacts[artifact.name] = artifact
            case RooflineKnown(roofline=roofline):
                run = msgspec.structs.replace(run, roofline=roofline)
            case Warned(warning=warning):
                if warning not in warnings:
                    warnings.append(warning)
            case Finished():
                finished = event
            case _:
                try:
                    blocks[event.block].take(event)
                except KeyError as error:
                    raise LevelfieldError(
                        f"The journal tells of {event.block} what it has not begun ({error}).",
                        fix="The file was changed or damaged; start a new run.",
                    ) from error
    return msgspec.structs.replace(
        run,
        blocks=tuple(block.close() for block in blocks.values()),
        images=tuple(images.values()),
        artifacts=tuple(artifacts.values()),
        warnings=tuple(warnings),
        resumed=tuple(resumed),
        finished=finished.at if finished else None,
        supervisor_window_share=finished.supervisor_window_share if finished else run.supervisor_window_share,
    )


class _OpenGeneration:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.launches: dict[str, Launch] = {}
        self.turns: dict[int, list[Turn]] = {}
        self.done: dict[int, RoundDone] = {}
        self.complete = False


class _OpenBlock:
    def __init__(self, block: Block) -> None:
        self.block = block
        self.generations: dict[int, _OpenGeneration] = {}

    def take(self, event: GenerationBegun | LaunchDone | TurnTaken | RoundDone | GenerationDone) -> None:
        match event:
            case GenerationBegun():
                self.generations[event.index] = _OpenGeneration(event.seed)
            case LaunchDone():
                self.generations[event.generation].launches[event.launch.arm] = event.launch
            case TurnTaken():
                self.generations[event.generation].turns.setdefault(event.round, []).append(event.turn)
            case RoundDone():
                self.generations[event.generation].done[event.round] = event
            case GenerationDone():
                self.generations[event.index].complete = True

    def close(self) -> Block:
        """Only complete rounds count: half a round would compare arms at different moments."""
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
                )
                for index, opened in sorted(self.generations.items())
            ),
        )

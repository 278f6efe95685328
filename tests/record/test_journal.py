"""The journal: what is in it is on the disk, and a record is nothing but its fold."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from levelfield import analysis
from levelfield.errors import LevelfieldError
from levelfield.record import journal
from levelfield.record.append_only import Lost
from levelfield.record.journal import (
    Event,
    Finished,
    GenerationBegun,
    GenerationDone,
    Journal,
    LaunchDone,
    Resumed,
    RooflineKnown,
    RoundDone,
    Started,
    TimeSpent,
    TurnTaken,
    Warned,
    fold,
)
from levelfield.record.schema import Absent, Run, Warning_
from levelfield.record.warnings import OF_AN_END
from levelfield.schedule.pacing import remaining_passes
from tests.records_builder import make_run

RUN = make_run(
    models=["mlp"], backends=["jax", "openvino"], scenarios=["latency", "memory"], generations=2, rounds=2, max_calls=5
)
BLOCK = RUN.blocks[0].case.id


def unfold(run: Run) -> Iterator[Event]:
    """Tell a record as the events that a run would have written."""
    bare = tuple(msgspec.structs.replace(block, generations=()) for block in run.blocks)
    yield Started(
        msgspec.structs.replace(
            run,
            blocks=bare,
            finished=None,
            supervisor_window_share=Absent("not yet"),
            warnings=(),
            roofline=Absent("not yet"),
            time_spent_s=None,
        )
    )
    yield RooflineKnown(run.roofline)
    for block in run.blocks:
        name = block.case.id
        for generation in block.generations:
            yield GenerationBegun(name, generation.index, generation.seed)
            for launch in generation.launches:
                yield LaunchDone(name, generation.index, launch)
            for each in generation.rounds:
                for turn in each.turns:
                    yield TurnTaken(name, generation.index, each.index, turn)
                yield RoundDone(name, generation.index, each.index, each.disturbed, each.repeats)
            if generation.complete:
                yield GenerationDone(name, generation.index)
    for warning in run.warnings:
        yield Warned(warning)
    if run.time_spent_s is not None:
        yield TimeSpent({name: 0.25 * seconds for name, seconds in run.time_spent_s.items()})
        yield TimeSpent({name: 0.75 * seconds for name, seconds in run.time_spent_s.items()})
    if run.finished:
        yield Finished(run.finished, run.supervisor_window_share)


EVENTS = list(unfold(RUN))


def written(path: Path, events: list[Event]) -> Path:
    with Journal(path) as book:
        for event in events:
            book.write(event)
    return path


def test_a_record_is_the_fold_of_its_journal(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.jsonl", EVENTS)
    assert journal.read(path) == EVENTS
    assert fold(journal.read(path)) == RUN


def test_every_prefix_is_a_record_without_its_last_half_round() -> None:
    turns = {block.case.id: len(block.generations[0].rounds[0].turns) for block in RUN.blocks if block.canary}
    for count in range(1, len(EVENTS)):
        run = fold(EVENTS[:count])
        assert run.finished is None
        for block in run.blocks:
            for generation in block.generations:
                assert all(len(each.turns) == turns[block.case.id] for each in generation.rounds)


def test_a_later_word_about_a_launch_replaces_the_earlier() -> None:
    launch = RUN.blocks[0].generations[0].launches[0]
    better = msgspec.structs.replace(launch, framework_version="read at the end")
    generation = next(event for event in EVENTS if isinstance(event, GenerationBegun))
    events = [EVENTS[0], generation, LaunchDone(BLOCK, 0, launch), LaunchDone(BLOCK, 0, better)]
    assert fold(events).blocks[0].generations[0].launches == (better,)


def test_a_resumed_run_is_not_finished_until_it_is_again() -> None:
    ended = Finished("2026-01-01T00:00:00Z", 0.001)
    assert fold([EVENTS[0], ended]).finished
    run = fold([EVENTS[0], ended, Resumed("2026-01-02T00:00:00Z")])
    assert run.finished is None
    assert run.resumed == ("2026-01-02T00:00:00Z",)


@pytest.mark.parametrize("code", OF_AN_END)
def test_what_a_run_lacked_is_not_said_of_the_run_that_made_it(code: str) -> None:
    other, lacked = Warned(Warning_("steal", "Stolen.")), Warned(Warning_(code, "Too little time."))
    ended = [EVENTS[0], other, lacked, TimeSpent({"preparing": 40.0, "loading": 50.0}), Finished("2026", 0.001)]
    assert [warning.code for warning in fold(ended).warnings[-2:]] == ["steal", code]
    resumed = fold([*ended, Resumed("2027", 480.0)])
    assert [warning.code for warning in resumed.warnings[-1:]] == ["steal"]
    assert resumed.settings.budget_seconds == 530.0
    assert fold([*ended, Resumed("2027"), lacked]).warnings[-1].code == code
    assert fold([*ended, Resumed("2027")]).settings == RUN.settings


def test_a_torn_last_line_is_dropped_and_the_next_one_begins_afresh(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.jsonl", EVENTS[:3])
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines(keepends=True)[-1])):
        path.write_bytes(whole[:-cut])
        assert journal.read(path) == EVENTS[:2]
        written(path, [EVENTS[2]])
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line", [b"not json", b"{}", b'{"type":"launch"}', b'{"type":"sung"}', b"\xff", b"[" * 200_000, b""]
)
def test_a_broken_line_elsewhere_is_marked_as_lost(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path / "journal.jsonl", EVENTS[:3])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], line, lines[2], b""]))
    assert journal.read(path) == [EVENTS[0], Lost(2), EVENTS[2]]


@pytest.mark.parametrize("place", range(1, len(EVENTS)))
def test_whatever_line_is_lost_the_rounds_before_it_are_kept_and_the_rest_is_measured_again(place: int) -> None:
    salvaged = fold([*EVENTS[:place], Lost(place + 1), *EVENTS[place + 1 :]])
    before = fold(EVENTS[:place])
    assert salvaged.warnings[-1].code == "journal-damaged"
    assert f"({place + 1})" in salvaged.warnings[-1].message
    whole = {block.case.id: block for block in RUN.blocks}
    for block, earlier in zip(salvaged.blocks, before.blocks, strict=True):
        kept = {(generation.index, each.index): each for generation in block.generations for each in generation.rounds}
        for generation in earlier.generations:
            for each in generation.rounds:
                assert kept[generation.index, each.index] == each
        true = {
            (generation.index, each.index): each
            for generation in whole[block.case.id].generations
            for each in generation.rounds
        }
        assert kept.items() <= true.items()  # never half a round
    if isinstance(EVENTS[place], GenerationBegun | LaunchDone | TurnTaken | RoundDone | GenerationDone):
        assert remaining_passes(salvaged.blocks)
    analysis.analyse(salvaged)


def test_a_journal_without_its_first_line_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="does not begin with the start"):
        fold([Lost(1), *EVENTS[1:]])


def test_a_second_writer_is_refused_and_told_who_holds_the_run(tmp_path: Path) -> None:
    path = tmp_path / "a-run" / "journal.jsonl"
    path.parent.mkdir()
    with Journal(path) as book:
        book.write(EVENTS[0])
        with pytest.raises(LevelfieldError, match=f"a-run is being measured by process {os.getpid()}"):
            Journal(path)
        assert journal.read(path) == EVENTS[:1]  # to read it is no matter
    with Journal(path) as book:
        book.write(EVENTS[1])
    assert journal.read(path) == EVENTS[:2]


def test_a_second_writer_does_not_cut_a_line_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path):
        path.write_bytes(b"half a li")
        with pytest.raises(LevelfieldError, match="is being measured"):
            Journal(path)
        assert path.read_bytes() == b"half a li"


def test_a_pipe_in_the_place_of_a_journal_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="There is no journal to read"):
        journal.read(tmp_path / "journal.jsonl")
    os.mkfifo(tmp_path / "journal.jsonl")
    with pytest.raises(LevelfieldError, match="not a plain file"):
        journal.read(tmp_path / "journal.jsonl")


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], "does not begin with the start"),
        ([Resumed("now")], "does not begin with the start"),
        ([EVENTS[0], EVENTS[0]], "two runs"),
        ([EVENTS[0], GenerationBegun("nobody/knows/it", 0, 1)], "nobody/knows/it"),
        ([EVENTS[0], GenerationDone(BLOCK, 7)], "not begun"),
        ([EVENTS[0], RoundDone(BLOCK, 7, 0)], "not begun"),
    ],
)
def test_events_that_tell_no_run(events: list[Event], says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        fold(events)


def test_a_full_disk_keeps_all_that_was_written_before(small_disk: Path) -> None:
    path = small_disk / "journal.jsonl"
    note = Warned(Warning_("budget-spent", "x" * 10_000))
    book = Journal(path)
    kept: list[Event] = []
    with pytest.raises(LevelfieldError, match="No space left on device") as caught:  # noqa: PT012
        while True:
            book.write(note)
            kept.append(note)
    book.close()
    assert "--resume" in caught.value.fix
    assert len(kept) > 3
    assert path.read_bytes().endswith(b"\n")
    assert journal.read(path) == kept

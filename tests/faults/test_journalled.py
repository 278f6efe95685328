"""Windows of a journal, looked for in the record that was made in the end."""

import msgspec
import pytest

from levelfield.record.journal import RoundDone, TurnTaken
from levelfield.record.schema import Run
from tests.faults.journalled import Windows, windows
from tests.records_builder import first_generation, make_run


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def events(run: Run) -> list[TurnTaken | RoundDone]:
    """Return what the journal of the first generation of a run holds of its rounds."""
    block = run.blocks[0]
    generation = block.generations[0]
    found: list[TurnTaken | RoundDone] = []
    for each in generation.rounds:
        found += [TurnTaken(block.case.id, generation.index, each.index, turn) for turn in each.turns]
        found.append(RoundDone(block.case.id, generation.index, each.index))
    return found


def test_windows_of_complete_rounds_are_kept_and_those_of_a_cut_round_are_not_lost(run: Run) -> None:
    journalled = events(run)
    turns = sum(isinstance(each, TurnTaken) and each.turn.window is not None for each in journalled)
    in_last = sum(turn.window is not None for turn in run.blocks[0].generations[0].rounds[-1].turns)
    assert windows(journalled, run) == Windows(turns, 0, 0)
    assert windows(journalled[:-1], run) == Windows(turns - in_last, 0, in_last)


def test_a_round_that_is_gone_is_a_loss(run: Run) -> None:
    rounds = run.blocks[0].generations[0].rounds
    without = first_generation(run, rounds=rounds[1:])
    assert windows(events(run), without).lost == sum(turn.window is not None for turn in rounds[0].turns)


def test_a_window_that_was_changed_is_a_loss(run: Run) -> None:
    first, *rest = run.blocks[0].generations[0].rounds
    turn = next(turn for turn in first.turns if turn.window is not None)
    assert turn.window is not None
    other = msgspec.structs.replace(turn, window=msgspec.structs.replace(turn.window, window_ns=1))
    turns = tuple(other if each is turn else each for each in first.turns)
    assert (
        windows(events(run), first_generation(run, rounds=(msgspec.structs.replace(first, turns=turns), *rest))).lost
        == 1
    )

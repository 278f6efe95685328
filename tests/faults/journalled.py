"""What became of the windows that a journal held when a run was cut off, by the record that was made in the end."""

from collections.abc import Iterable

import msgspec

from levelfield.record.append_only import Lost
from levelfield.record.journal import Event, RoundDone, TurnTaken
from levelfield.record.schema import Run


class Windows(msgspec.Struct, frozen=True):
    """What became of the windows that a journal held when the fault struck."""

    kept: int
    """Of complete rounds; they stand in the record as they were."""
    lost: int
    """Of complete rounds, and not in the record."""
    again: int
    """Of a round that was cut; arms are compared within a round, so it is measured again."""


def windows(journalled: Iterable[Event | Lost], record: Run) -> Windows:
    """Look for every window of a journal in the record that was made in the end.

    Parameters
    ----------
    journalled
        Events of the journal when the run was cut off.
    record
        Of the run when it was finished.
    """
    events = list(journalled)
    done = {(each.block, each.generation, each.round) for each in events if isinstance(each, RoundDone)}
    recorded = {
        (block.case.id, generation.index, each.index): each.turns
        for block in record.blocks
        for generation in block.generations
        for each in generation.rounds
    }
    kept = lost = again = 0
    for event in events:
        if not isinstance(event, TurnTaken) or event.turn.window is None:
            continue
        place = event.block, event.generation, event.round
        if place not in done:
            again += 1
        elif event.turn in recorded.get(place, ()):
            kept += 1
        else:
            lost += 1
    return Windows(kept, lost, again)

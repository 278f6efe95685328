"""What is said of a derived gate before the numbers."""

import msgspec
import pytest

from levelfield.compare.noise_gate.notes import notes, since_seconds, span_seconds
from levelfield.compare.types import Derived
from tests.compare.runs import side

TIMES = ["2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T11:00:00Z"]


def test_times() -> None:
    assert span_seconds(TIMES) == 7200
    assert since_seconds(TIMES, ["2026-01-02T12:00:00Z"]) == 86_400
    assert span_seconds(["yesterday"]) is None
    assert since_seconds(TIMES, []) is None


@pytest.mark.parametrize("at_hand", [True, False])
def test_what_is_missing_is_said(*, at_hand: bool) -> None:
    derived = Derived("good", TIMES[0], 3, ("a",), 0.01, 0.9, at_hand=at_hand)
    found = list(notes(side("old", 3), side("new", 1, 9), (), derived))
    assert any("not at hand" in note for note in found) is not at_hand


def test_a_gate_of_one_day_is_said_where_the_new_runs_are_of_another() -> None:
    derived = Derived("good", TIMES[0], 3, ("a",), 0.01, 0.9, at_hand=True)

    def said(*days: int) -> bool:
        made = [
            msgspec.structs.replace(
                run, facts=msgspec.structs.replace(run.facts, started=f"2026-01-{day:02}T10:00:00Z")
            )
            for run, day in zip(side("run", len(days)), days, strict=True)
        ]
        return any("and the new ones of another" in note for note in notes(made[:-1], made[-1:], (), derived))

    assert said(1, 1, 1, 2)
    assert said(1, 1, 2, 9)
    assert not said(1, 1, 1, 1)
    assert not said(1, 2, 3, 9)

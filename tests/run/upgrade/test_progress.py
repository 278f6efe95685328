"""What an upgrade's journal says, and what comes next, over sequences of boots."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import Lost
from levelfield.run.upgrade.progress import (
    Event,
    Here,
    Measure,
    Phase,
    Resume,
    Side,
    State,
    advice,
    fold,
    step,
    without_way_back,
)
from tests.run.upgrade.journals import at, begun, declared, events, measured, measuring, state


def here(side: Side, boot: str = "boot-99", minute: int = 1000) -> Here:
    return Here(boot, side, at(minute))


def counts(found: State) -> tuple[int, ...]:
    return tuple(len(found.of_phase(phase)) for phase in Phase)


@pytest.mark.parametrize(
    ("sides", "says"),
    [
        ("", "Next: levelfield upgrade next up in this boot and after each reboot: 2 boots on this side."),
        ("o", "Next: reboot, 1 more boot on this side."),
        ("oo", "Next: install the new driver, kernel or whatever is to be upgraded, then reboot: 2 boots on"),
        ("oon", "Next: reboot, 1 more boot on this side."),
        ("oonn", "Next: go back to the old stack, then reboot: 2 boots there."),
        ("oonno", "Next: reboot, 1 more boot on this side."),
        ("oonnoo", "Done: levelfield upgrade verdict up"),
    ],
)
def test_what_comes_next_is_said(sides: str, says: str) -> None:
    assert advice(state(sides)).startswith(says)


def test_a_command_that_is_copied_is_one_command() -> None:
    assert advice(state("", begun(name="up; sh #"))).startswith("Next: levelfield upgrade next 'up; sh #' in this boot")
    assert advice(state("oonnoo", begun(name="$(sh)"))) == "Done: levelfield upgrade verdict '$(sh)'"


@pytest.mark.parametrize(
    ("sides", "side", "says"),
    [
        ("", "new", "was not measured in any boot"),
        ("o", "new", "the old one was measured in 1 of 2 boots"),
        ("oon", "old", "the new one was measured in 1 of 2 boots"),
        ("oonno", "new", "The new stack runs again"),
    ],
)
def test_a_side_that_would_leave_a_phase_incomplete_is_refused(sides: str, side: Side, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says) as caught:
        step(state(sides), here(side))
    assert caught.value.fix


def test_an_upgrade_turns_out_to_have_no_way_back_unless_it_was_gone() -> None:
    assert without_way_back(state("oonn")).phase is None
    with pytest.raises(LevelfieldError, match="measured again in 1 boot, so that there is a way back"):
        without_way_back(state("oonno"))


def test_a_run_stands_for_a_boot_where_image_sets_are_the_sides() -> None:
    found = state("o", declared())
    assert step(found, here("old", "boot-1")) == Measure(Phase.BEFORE)
    again = [*events("o", declared()), measuring(2, "old", boot="boot-1"), measured(2)]
    assert counts(fold(again)) == (2, 0, 0)
    assert advice(found) == "Next: levelfield upgrade next up (or --all): 1 run of onnxruntime@1.29.0."
    assert advice(state("oo", declared())).endswith("2 runs of onnxruntime@1.30.0.")
    assert advice(found, Path("my runs")).startswith("Next: levelfield upgrade next up --reports 'my runs' (or --all)")


def test_a_run_that_was_cut_off_goes_on_in_its_own_boot_alone() -> None:
    found = state("oo", cut=[2])
    assert counts(found) == (1, 0, 0)
    assert step(found, here("old", "boot-2")) == Resume("20260301-000002-run")
    assert step(found, here("old", "boot-3")) == Measure(Phase.BEFORE)
    later = state("ooo", cut=[2])
    assert counts(later) == (2, 0, 0)
    assert [run.run for run in later.left] == ["20260301-000002-run"]
    assert step(later, here("old", "boot-2")) != Resume("20260301-000002-run")


def test_a_clock_that_went_back_is_refused() -> None:
    with pytest.raises(LevelfieldError, match="clock says 2026-03-01T00:14:00Z") as caught:
        step(state("o"), here("old", minute=14))
    assert "timedatectl" in caught.value.fix
    assert step(state("o"), here("old", minute=15)) == Measure(Phase.BEFORE)
    assert fold([begun(), measuring(1, "old"), replace(measured(1), at=at(5))]).last_at == at(10)


@pytest.mark.parametrize(
    ("harmed", "says"),
    [
        ([], "does not begin"),
        (events("o")[1:], "does not begin"),
        ([begun(), begun()], "holds two upgrades"),
        ([begun(), measured(1)], "counts the run 20260301-000001-run, which it did not begin"),
        ([*events("o"), measured(1)], "counts the run 20260301-000001-run, which it did not begin, or counted before"),
        ([*events("o"), Lost(4), measuring(2, "old")], "is damaged in line 4"),
        ([*events("o"), measuring(1, "old")], "begins the run 20260301-000001-run twice"),
        ([*events("oo", cut=[1]), measuring(1, "old")], "begins the run 20260301-000001-run twice"),
        (
            [*events("o"), measuring(2, "old"), replace(measured(2), sha256=measured(1).sha256)],
            "counts one record twice, as the runs 20260301-000001-run and 20260301-000002-run",
        ),
        (
            [*events("o"), measuring(2, "old", boot="boot-1"), measured(2)],
            "would not have measured: This boot was measured before, by the run 20260301-000001-run",
        ),
        (
            [*events("o"), replace(measuring(2, "old"), at=at(14)), measured(2)],
            f"20260301-000002-run, which `next` would not have measured: .* clock says {at(14)}",
        ),
        (events("ooo"), "would not have measured: The old stack runs, which has all its boots"),
        (events("oonnooo"), "would not have measured: Every phase has all its boots"),
        (events("oonnon"), "would not have measured: The new stack runs again"),
    ],
)
def test_a_damaged_journal_is_refused(harmed: list[Event | Lost], says: str) -> None:
    with pytest.raises(LevelfieldError, match=says) as caught:
        fold(harmed)
    assert "runs are kept" in caught.value.fix


@given(st.lists(st.tuples(st.sampled_from(["old", "new"]), st.booleans()), max_size=40), st.booleans())
def test_no_sequence_of_boots_counts_too_many_or_in_another_order(
    boots: list[tuple[Side, bool]], one_way: bool
) -> None:
    written: list[Event] = [begun(one_way=one_way)]
    for number, (side, ends) in enumerate(boots, start=1):
        found = fold(written)
        try:
            decided = step(found, here(side, f"boot-{number}", 10 * number))
        except LevelfieldError:
            continue
        if isinstance(decided, Measure):
            written.append(measuring(number, side))
            written += [measured(number)] if ends else []
    found = fold(written)
    assert max(counts(found)) <= 2
    phases = [boot.phase for boot in found.boots]
    assert phases == sorted(phases, key=list(Phase).index)
    assert one_way or all(
        counts(found)[: list(Phase).index(phase)] == (2,) * list(Phase).index(phase) for phase in phases
    )
    assert len({boot.begun.boot for boot in found.boots}) == len(found.boots)

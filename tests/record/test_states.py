"""The state of the machine: low modes, single windows, and what may be said of a run."""

import msgspec
import numpy as np
import pytest

from levelfield.record.schema import Absent, MachineLevels, MachineProbe, Reason, Turn
from levelfield.record.states import FEWEST_PROBES, Knowledge, State, judge, knowledge, levels
from tests.known import known

LOW = MachineProbe(900_000, 400_000, 500_000)
KNOWN = MachineLevels(900_000, 400_000, 500_000, probes=100, low_share=0.7, high_share=0.2, kept=False)
OUTSIDE = Reason("others", 0.3, 0.13)


def probe(arithmetic: float = 1.0, memory: float = 1.0, pages: float = 1.0) -> MachineProbe:
    return MachineProbe(int(arithmetic * 900_000), int(memory * 400_000), int(pages * 500_000))


def turn(before: MachineProbe | Absent | None, after: MachineProbe | Absent | None, **more: object) -> Turn:
    return msgspec.structs.replace(Turn("jax", None, probed_before=before, probed_after=after), **more)


def probes(*shares: tuple[float, float], count: int = 400) -> list[MachineProbe]:
    """Draw probes whose arithmetic lies at these multiples of the low mode, each in a share of them."""
    draw = np.random.default_rng(1)
    centres = [centre for centre, share in shares for _ in range(round(share * count))]
    return [probe(centre * (1 + abs(draw.normal(0, 0.01)))) for centre in centres]


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (probe(), probe(1.09), "calm"),
        (probe(), probe(1.12), "unsettled"),
        (probe(1.5), probe(1.4), "contended"),
        (probe(memory=1.5), probe(pages=3), "contended"),
        (probe(memory=1.35, pages=1.35), probe(), "calm"),
    ],
)
def test_a_window_is_judged_by_the_probes_around_it(before: MachineProbe, after: MachineProbe, state: State) -> None:
    judged = known(judge(turn(before, after), KNOWN))
    assert judged.state == state
    assert bool(judged.reasons) is (state != "calm")


def test_the_reasons_name_the_part_its_excess_and_its_limit() -> None:
    judged = known(judge(turn(probe(1.5), probe(memory=2.0)), KNOWN))
    assert [(each.signal, each.limit) for each in judged.reasons] == [("arithmetic", 1.10), ("memory", 1.40)]
    assert [each.value for each in judged.reasons] == pytest.approx([1.5, 2.0])


def test_what_other_programs_take_is_no_calm_window_though_probes_are_calm() -> None:
    judged = known(judge(turn(probe(), probe(), outside=(OUTSIDE,)), KNOWN))
    assert (judged.state, judged.reasons) == ("contended", (OUTSIDE,))


@pytest.mark.parametrize("missing", [None, Absent("the canary crashed")])
def test_without_a_probe_or_a_level_the_state_is_not_known(missing: Absent | None) -> None:
    assert judge(turn(missing, probe()), KNOWN) is None
    assert judge(turn(probe(), missing), KNOWN) is None
    assert judge(turn(probe(), probe()), None) is None


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        (((1.0, 0.7), (1.5, 0.3)), "two states seen"),
        (((1.0, 1.0),), "one state seen"),
        (((1.0, 0.9), (6.0, 0.1)), "one state seen"),
        (((1.0, 0.2), (1.5, 0.8)), "contended throughout"),
    ],
)
def test_what_may_be_said_of_a_run_follows_from_its_probes(
    shares: tuple[tuple[float, float], ...], expected: Knowledge
) -> None:
    found = known(levels(probes(*shares)))
    assert knowledge(found) == expected
    assert found.arithmetic_ns == pytest.approx(900_000, rel=0.01)


def test_a_run_in_one_state_knows_from_earlier_runs_that_it_was_contended() -> None:
    contended = probes((1.5, 1.0))
    alone, informed = levels(contended), levels(contended, kept=LOW)
    assert informed is not None
    assert knowledge(known(alone)) == "one state seen"
    assert knowledge(informed) == "two states seen"
    assert informed.low_share == 0
    assert known(judge(turn(contended[0], contended[1]), informed)).state == "contended"


def test_a_few_fast_probes_are_no_low_mode() -> None:
    """As when a clock is boosted for a moment: less than one in twenty."""
    found = known(levels(probes((0.8, 0.03), (1.0, 0.97))))
    assert found.arithmetic_ns == pytest.approx(900_000, rel=0.02)


def test_a_few_probes_show_no_level_unless_one_is_known() -> None:
    few = probes((1.0, 1.0), count=FEWEST_PROBES - 1)
    assert levels(few) is None
    assert levels(few, kept=LOW) is not None
    assert levels([], kept=LOW) is None

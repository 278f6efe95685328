"""The summary counts what `ab` said beside what is known."""

from studies.regressions.pairs import Class
from studies.regressions.record import summary
from studies.tests.regressions.outcomes import outcome
from suite.compare.types import Verdict
from suite.statistics.proportions import proportion


def test_every_verdict_is_counted_once() -> None:
    outcomes = [
        outcome(Class.SLOWER, Verdict.SLOWER),
        outcome(Class.FASTER, Verdict.FASTER),
        outcome(Class.FASTER, Verdict.SLOWER),
        outcome(Class.SLOWER, Verdict.SAME),
        outcome(Class.SLOWER, Verdict.INCONCLUSIVE),
        outcome(Class.SLOWER, Verdict.FAILED),
        outcome(Class.UNCHANGED, Verdict.SAME),
        outcome(Class.UNCHANGED, Verdict.SLOWER),
        outcome(Class.UNCHANGED, Verdict.INCONCLUSIVE),
    ]
    found = summary(outcomes)
    assert found.found == proportion(2, 6)
    assert (found.wrong_direction, found.called_same, found.undecided_changed) == (1, 1, 2)
    assert found.false_alarms == proportion(1, 3)
    assert (found.shown_same, found.undecided_unchanged) == (1, 1)
    assert found.seconds == 270.0


def test_without_a_kind_there_is_no_share_of_it() -> None:
    assert summary([outcome(Class.SLOWER, Verdict.SLOWER)]).false_alarms is None
    assert summary([outcome(Class.UNCHANGED, Verdict.SAME)]).found is None

"""The summary counts what `ab` said beside what is known."""

from studies.regressions.pairs import Class
from studies.regressions.record import Record, markdown, summary
from studies.tests.regressions.outcomes import outcome
from suite.compare.types import Gate, Verdict
from suite.machine.fingerprint import fingerprint
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


def test_it_says_how_many_were_found() -> None:
    outcomes = (outcome(Class.SLOWER, Verdict.SLOWER), outcome(Class.UNCHANGED, Verdict.SAME))
    record = Record(
        schema=Record.SCHEMA,
        started="2026-11-24T00:00:00Z",
        updated="2026-11-24T00:01:00Z",
        tool_version="0",
        settings={},
        gate=Gate(),
        machine=fingerprint((0,)),
        classes_sha256="0" * 64,
        outcomes=outcomes,
        summary=summary(outcomes),
    )
    text = markdown(record)
    assert "found, in the right direction: 1 of 1 (2.5 to 100.0 %)" in text
    assert "False alarms where nothing changed: 0 of 1 (0.0 to 97.5 %); shown to be same 1" in text
    assert (
        "| softplus, onnxruntime 1.20.0 → 1.21.0 | slower, 1.300 (1.280–1.320) | 1.290 (1.200–1.400) | slower |" in text
    )

"""The frozen pairs are compared one after the other, and a record is added to; `ab` itself is not called."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.compare.ab import compare_arms
from levelfield.compare.types import Gate, Verdict
from levelfield.errors import LevelfieldError
from levelfield.run.ab import AbResult
from levelfield.statistics.proportions import proportion
from studies.commands import read
from studies.regressions import pairs, trial
from studies.regressions.pairs import Class, Frozen, Pair
from studies.regressions.record import Outcome, Record, markdown, summary
from studies.regressions.trial import TrialRequest
from tests.compare.pairs import run

PAIR = Pair("softplus-1.21", "onnxruntime", "1.20.0", "1.21.0", "softplus", "https://example.org/1", "slower", "+25 %")
REQUEST = TrialRequest(budget_seconds=None, margin=0.02, profile="standard")


def outcome(class_: Class, verdict: Verdict) -> Outcome:
    return Outcome(
        pair=PAIR,
        frozen=Frozen("softplus-1.21", class_, 1.3, 1.28, 1.32, "0" * 64),
        run="20261124-000000-standard-0000",
        started="2026-11-24T00:00:00Z",
        seconds=30.0,
        verdict=verdict,
        reason="",
        launches=5,
        ratio=1.29,
        low=1.2,
        high=1.4,
        confidence=0.99,
    )


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> pairs.FrozenList:
    """Two frozen pairs on workloads of the trial, and an `ab` that finds every new version 20 % slower."""

    def called(*_: object) -> AbResult:
        record = run(1.2, generations=10, models=("mlp",), scenarios=("latency",))
        return AbResult(Path("run"), Path("run/run.json"), record, compare_arms(record, Gate(), "0" * 64))

    monkeypatch.setattr(trial, "measure", called)
    monkeypatch.setattr(trial, "build", lambda *_, **__: None)
    monkeypatch.setattr("studies.regressions.pairs.install", lambda _: None)
    monkeypatch.setattr("levelfield.prepare.own_model.store.read", lambda *_: None)
    everything = pairs.read_frozen()
    known = {each.name: each for each in pairs.read()}
    chosen = [each for each in everything.pair if known[each.name].workload in {"softplus", "selu", "elu", "erf"}]
    return msgspec.structs.replace(everything, pair=tuple(chosen[:2]))


def test_every_pair_is_compared_once(tmp_path: Path, frozen: pairs.FrozenList, monkeypatch: pytest.MonkeyPatch) -> None:
    out, said = tmp_path / "regressions.json", list[str]()
    one = msgspec.structs.replace(frozen, pair=frozen.pair[:1])
    first = trial.run(one, REQUEST, out, said.append, None)
    assert [each.frozen for each in first.outcomes] == [frozen.pair[0]]
    assert first.classes_sha256 == frozen.record_sha256
    monkeypatch.setattr("studies.regressions.trial.fingerprint", lambda _: first.machine)
    before = trial.existing(out, REQUEST, frozen, add=True)
    assert before == first
    both = trial.run(frozen, REQUEST, out, said.append, before)
    assert both.outcomes[:1] == first.outcomes
    assert [each.frozen for each in both.outcomes] == list(frozen.pair)
    assert both.summary is not None
    assert len(said) == 2
    assert read(out, Record) == both
    assert out.with_suffix(".md").read_text() == markdown(both)


def test_another_workload_than_the_classified_one_is_refused(tmp_path: Path, frozen: pairs.FrozenList) -> None:
    wrong = msgspec.structs.replace(frozen.pair[0], model_sha256="0" * 64)
    changed = msgspec.structs.replace(frozen, pair=(wrong,))
    with pytest.raises(LevelfieldError, match="not the one that was classified"):
        trial.run(changed, REQUEST, tmp_path / "x.json", list[str]().append, None)


def test_every_verdict_is_counted_once() -> None:
    changed, unchanged, same = Class.SLOWER, Class.UNCHANGED, Verdict.SAME
    slower, open_ = Verdict.SLOWER, Verdict.UNDECIDED
    said = [(changed, slower), (Class.FASTER, Verdict.FASTER), (Class.FASTER, slower), (changed, same)]
    said += [(changed, open_), (changed, Verdict.FAILED), (unchanged, same), (unchanged, slower), (unchanged, open_)]
    outcomes = [outcome(*each) for each in said]
    found = summary(outcomes)
    assert found.found == proportion(2, 6)
    assert (found.wrong_direction, found.called_same, found.undecided_changed) == (1, 1, 2)
    assert found.false_alarms == proportion(1, 3)
    assert (found.shown_same, found.undecided_unchanged) == (1, 1)
    assert found.seconds == 270.0
    assert summary(outcomes[:1]).false_alarms is None
    assert summary(outcomes[6:]).found is None


def test_it_says_how_many_were_found() -> None:
    outcomes = (outcome(Class.SLOWER, Verdict.SLOWER), outcome(Class.UNCHANGED, Verdict.SAME))
    facts: dict[str, Any] = {
        "tool_version": "0",
        "settings": {},
        "gate": Gate(),
        "machine": {},
        "classes_sha256": "0" * 64,
    }
    day = "2026-11-24T00:00:00Z"
    record = Record(schema=1, started=day, updated=day, outcomes=outcomes, summary=summary(outcomes), **facts)
    text = markdown(record)
    assert "found, in the right direction: 1 of 1 (2.5 to 100.0 %)" in text
    assert "False alarms where nothing changed: 0 of 1 (0.0 to 97.5 %); shown to be same 1" in text
    assert (
        "| softplus, onnxruntime 1.20.0 → 1.21.0 | slower, 1.300 (1.280–1.320) | 1.290 (1.200–1.400) | slower |" in text
    )

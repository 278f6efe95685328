"""The frozen pairs are compared one after the other, and a record is added to; `ab` itself is not called."""

from pathlib import Path

import msgspec
import pytest

from studies.commands import read
from studies.regressions import pairs, trial
from studies.regressions.record import Record, markdown
from studies.regressions.trial import TrialRequest
from studies.tests.regressions.outcomes import result
from suite.errors import LevelfieldError
from suite.run.ab import AbResult

REQUEST = TrialRequest(budget_seconds=None, margin=0.02, profile="standard")


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> pairs.FrozenList:
    """Two frozen pairs on workloads of the trial, and an `ab` that finds every new version 20 % slower."""

    def called(*_: object) -> AbResult:
        found = result(1.2)
        one = msgspec.structs.replace(found.comparison, rows=found.comparison.rows[:1])
        return msgspec.structs.replace(found, comparison=one)

    monkeypatch.setattr(trial, "measure", called)
    monkeypatch.setattr(trial, "build", lambda *_, **__: None)
    monkeypatch.setattr("studies.regressions.pairs.install", lambda _: None)
    monkeypatch.setattr("suite.prepare.own_model.store.read", lambda *_: None)
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

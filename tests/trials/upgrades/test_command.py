"""The upgrade trial: what it plans, what it counts, and one of each kind for real."""

from pathlib import Path

import msgspec
import pytest

from suite.errors import LevelfieldError
from suite.images import catalogue
from suite.run.ab import AbResult
from suite.trials.record import read
from suite.trials.upgrades import command
from suite.trials.upgrades.command import TrialRequest, Upgrade
from suite.trials.upgrades.record import Record
from suite.trials.upgrades.show import markdown
from tests.trials.upgrades.trials import result, trial

ASKED = TrialRequest(
    kinds=command.KINDS,
    count=2,
    arm="onnxruntime",
    models=("mlp",),
    scenarios=("latency",),
    effect="5%",
    budget_seconds=60.0,
    backends=("onnxruntime", "openvino"),
    upgrade_models=("mlp",),
    upgrade_scenarios=("latency",),
    upgrade_budget_seconds=60.0,
    profile="smoke",
    margin=0.02,
)


def test_every_trial_is_planned_in_turn() -> None:
    todo = list(command.planned(ASKED))
    assert [each.kind for each in todo[:4]] == ["same", "injected", "same", "injected"]
    assert all(each.old == each.new == "onnxruntime" for each in todo[:4])
    versions = [(each.old, each.new) for each in todo[4:]]
    known = catalogue.versions("onnxruntime")
    assert versions[0] == (f"onnxruntime@{known[0]}", f"onnxruntime@{known[1]}")
    assert versions[-1][1] == f"openvino@{catalogue.current_version('openvino')}"
    assert len(versions) == len(known) + len(catalogue.versions("openvino")) - 2


def test_going_on_makes_only_what_is_left() -> None:
    done = msgspec.structs.replace(trial("same", 1.0), old="onnxruntime", new="onnxruntime#2")
    todo = command.remaining(command.planned(ASKED), (done,))
    assert [each.kind for each in todo[:3]] == ["injected", "same", "injected"]
    finished = tuple(
        msgspec.structs.replace(done, kind=each.kind, old=each.old, new=each.new, inject=each.inject)
        for each in command.planned(ASKED)
    )
    assert command.remaining(command.planned(ASKED), finished) == []


def test_what_is_not_such_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read(path, Record)
    path.write_text("[]")
    with pytest.raises(LevelfieldError, match="is not a record of the upgrade trial"):
        read(path, Record)
    with pytest.raises(LevelfieldError, match="exists already"):
        command.run(ASKED, path, lambda _: None, add=False)


def test_a_record_is_written_after_each_trial_and_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, str, object]] = []

    def called(old: str, new: str, **options: object) -> tuple[AbResult, float]:
        calls.append((old, new, options["inject"]))
        return result(1.2 if options["inject"] else 1.0), 30.0

    monkeypatch.setattr(command, "call", called)
    monkeypatch.setattr(command, "build", lambda *_, **__: None)
    out, said = tmp_path / "upgrades.json", list[str]()
    asked = msgspec.structs.replace(ASKED, kinds=("same", "injected"), count=1)
    first = command.run(asked, out, said.append, add=False)
    assert calls == [("onnxruntime", "onnxruntime", None), ("onnxruntime", "onnxruntime", ("5%", "onnxruntime#2"))]
    assert [each.kind for each in first.trials] == ["same", "injected"]
    assert len(said) == 2
    assert read(out, Record) == first
    assert out.with_suffix(".md").read_text() == markdown(first)
    monkeypatch.setattr("suite.trials.record.fingerprint", lambda _: first.machine)
    with pytest.raises(LevelfieldError, match="exists already"):
        command.run(asked, out, said.append, add=False)
    with pytest.raises(LevelfieldError, match="other settings"):
        command.run(msgspec.structs.replace(asked, margin=0.05), out, said.append, add=True)
    more = command.run(msgspec.structs.replace(asked, kinds=("same",), count=2), out, said.append, add=True)
    assert more.trials[:2] == first.trials
    assert [each.kind for each in more.trials] == ["same", "injected", "same", "same"]
    assert more.findings[0].by_trial.trials == 3


@pytest.mark.docker
@pytest.mark.extended
def test_one_of_each_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "upgrades.json"
    asked = msgspec.structs.replace(ASKED, count=1)

    def few(_: TrialRequest) -> list[Upgrade]:
        """One upgrade instead of all."""
        everything = list(upgrades_planned(asked))
        return [*everything[:2], everything[-1]]

    upgrades_planned = command.planned
    monkeypatch.setattr(command, "planned", few)
    said: list[str] = []
    record = command.run(asked, out, said.append, add=False)
    assert [each.kind for each in record.trials] == ["same", "injected", "upgrade"]
    assert record.trials[0].new == "onnxruntime#2"
    assert record.trials[1].inject == "5%"
    assert {each.reason for one in record.trials for each in one.decisions} == {
        "2 launches of both arms, and a verdict takes 5"
    }
    assert all(each.movement == "identical" for each in record.trials[0].moves)
    assert read(out, Record) == record
    assert out.with_suffix(".md").read_text() == markdown(record)
    with pytest.raises(LevelfieldError, match="other settings"):
        command.run(msgspec.structs.replace(asked, margin=0.05), out, said.append, add=True)
    again: Record = command.run(asked, out, said.append, add=True)
    assert again == record, "there is nothing left to do"

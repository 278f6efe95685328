"""What a run trains on: what was asked for, what an earlier run says, and what becomes of unusable images."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from suite.cli.options import without_paths
from suite.errors import LevelfieldError
from suite.launchers.host import HostLauncher
from suite.launchers.protocol import WorkerPaths
from suite.machine.signals import Signals
from suite.prepare.artifacts import Artifacts
from suite.prepare.training_data import TrainingData, TrainingDataRequest, prepare_training_data, repeat_request
from suite.record import journal
from suite.record.files import JOURNAL
from suite.record.schema import Arm, Block, Case, OwnImages, Settings
from suite.run.options import Options
from suite.run.start import start_run
from suite.schedule import convergence as converging
from suite.schedule.listener import SilentListener
from suite.schedule.preparation import prepare
from suite.schedule.resources import task_for
from suite.worker.sources import trained_model, training_rule
from suite.zoo.training import convergence
from suite.zoo.training.recipe import Goal
from tests import canaries
from tests.prepare.own_images import pictures
from tests.records_builder import make_run

TRAINING = Block(Case("mlp", "convergence", "fp32", 64, 1), (Arm("jax", "jax"),), planned_generations=2)
LATENCY = Block(Case("mlp", "latency", "fp32", 1, 1), (Arm("jax", "jax"),), planned_generations=2)
SETTINGS = make_run(models=["mlp"], scenarios=["convergence"], generations=1).settings
OWN = OwnImages("ab" * 32, classes=3, trained=72, tested=24)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed is enough to see that the sensitivity is looked at."""
    monkeypatch.setattr(convergence, "OWN_SEEDS", 1)


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path / "artifacts")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return pictures.two_sided(tmp_path / "mine")


def silently(_: str) -> None: ...


def trained_on(own: OwnImages | None, target: float | None = None) -> Settings:
    return msgspec.structs.replace(SETTINGS, own_images=own, target=target)


def test_nothing_asked_for_is_the_digits(artifacts: Artifacts) -> None:
    found = prepare_training_data(TrainingDataRequest(), [TRAINING], artifacts, silently)
    assert found.recorded is None
    assert found.goal("mlp") == convergence.goal("mlp")
    assert (
        prepare_training_data(TrainingDataRequest(target=0.9), [TRAINING], artifacts, silently).goal("mlp").target
        == 0.9
    )


def test_a_users_images_become_a_goal_of_their_own(artifacts: Artifacts, folder: Path) -> None:
    found = prepare_training_data(
        TrainingDataRequest(data=folder, target=0.8), [LATENCY, TRAINING], artifacts, silently
    )
    goal = found.goal("mlp")
    assert (goal.network, goal.target) == ("digits_mlp@3x16x16-3", 0.8)
    assert goal.own_sensitivity == found.sensitivity["mlp"] > 0
    assert found.recorded is not None
    assert (found.recorded.classes, found.recorded.trained, found.recorded.tested) == (3, 72, 24)
    assert str(folder) not in str(found.recorded)
    assert (
        prepare_training_data(TrainingDataRequest(data=folder), [TRAINING], artifacts, silently).goal("mlp").target
        == convergence.OWN_TARGET
    )
    (file,) = (artifacts.root / "images").glob("*.npy")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="is gone from the cache, or was changed there"):
        found.goal("mlp")


@pytest.mark.parametrize("wanted", [TrainingDataRequest(data=Path("x")), TrainingDataRequest(target=0.9)])
def test_data_without_a_training_are_a_mistake(artifacts: Artifacts, wanted: TrainingDataRequest) -> None:
    with pytest.raises(LevelfieldError, match=r"none was asked for\. Add --scenarios convergence"):
        prepare_training_data(wanted, [LATENCY], artifacts, silently)


def test_images_that_cannot_be_used_end_a_run_of_nothing_else(artifacts: Artifacts, tmp_path: Path) -> None:
    wanted = TrainingDataRequest(data=tmp_path / "gone")
    with pytest.raises(LevelfieldError, match=r"There is no folder “gone” to train on\. Name a folder with train/"):
        prepare_training_data(wanted, [TRAINING], artifacts, silently)


def test_and_cost_their_own_case_only_where_there_is_more(artifacts: Artifacts, tmp_path: Path) -> None:
    found = prepare_training_data(TrainingDataRequest(data=tmp_path / "gone"), [LATENCY, TRAINING], artifacts, silently)
    assert found.recorded == OwnImages(sha256="", reason="There is no folder “gone” to train on.")
    made = canaries.plan("latency")
    site = msgspec.structs.replace(canaries.site(made), trained=found)
    with Signals((0,)) as signals:
        outcomes = converging.trainings(site, TRAINING, TRAINING.arms, 0, 1, signals, SilentListener())
    (outcome,) = outcomes
    assert outcome.launch.failure is not None
    assert outcome.launch.failure.message == "There is no folder “gone” to train on."
    record = journal.fold(journal.read(start_run(made, Options(seed=7, reports=tmp_path / "reports"), site) / JOURNAL))
    assert record.settings.own_images == found.recorded
    site.caches.rmdir()


def test_to_go_on_the_images_must_be_given_and_be_the_same(artifacts: Artifacts, folder: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"\(SHA-256 abababababab…\)\. Give the folder with --data PATH"):
        repeat_request(TrainingDataRequest(), trained_on(OWN))
    with pytest.raises(LevelfieldError, match=r"did not train on images of your own\. Leave --data out"):
        repeat_request(TrainingDataRequest(data=folder), trained_on(None))
    assert repeat_request(TrainingDataRequest(target=0.5), trained_on(None, 0.9)) == TrainingDataRequest(target=0.9), (
        "the target is the record's"
    )
    others = repeat_request(TrainingDataRequest(data=folder), trained_on(OWN))
    with pytest.raises(LevelfieldError, match=r"SHA-256 is [0-9a-f]{12}… now, and was abababababab…\."):
        prepare_training_data(others, [TRAINING], artifacts, silently)
    assert "are not those" in prepare_training_data(others, [LATENCY, TRAINING], artifacts, silently).reason
    first = prepare_training_data(TrainingDataRequest(data=folder), [TRAINING], artifacts, silently)
    same = repeat_request(TrainingDataRequest(data=folder), trained_on(first.recorded))
    assert prepare_training_data(same, [TRAINING], artifacts, silently).recorded == first.recorded
    np.save(folder / "train" / "red" / "1.npy", np.zeros((9, 9), np.uint8))
    assert "are not those" in prepare_training_data(same, [LATENCY, TRAINING], artifacts, silently).reason


def test_what_could_not_be_used_stays_so(artifacts: Artifacts) -> None:
    unusable = OwnImages(sha256="", reason="The folder is empty.")
    assert (
        prepare_training_data(
            repeat_request(TrainingDataRequest(), trained_on(unusable)), [TRAINING], artifacts, silently
        ).recorded
        == unusable
    )


def test_a_worker_is_reported_the_file_and_makes_the_same_of_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    plan = canaries.plan("latency")
    plan = msgspec.structs.replace(plan, blocks=(*plan.blocks, TRAINING))
    site = prepare(plan, HostLauncher(), SilentListener(), training_data=TrainingDataRequest(data=folder, target=0.8))
    worker_paths = WorkerPaths(artifacts=str(site.artifacts.root), cache="/cache", export=None)
    task = task_for(site, TRAINING.case, TRAINING.arms[0], worker_paths)
    there, here = training_rule(task), site.goal("mlp")
    assert isinstance(there, Goal)
    assert there.network == here.network == trained_model(task).name
    assert convergence.loaded_sha256(there) == convergence.loaded_sha256(here)
    assert task_for(site, LATENCY.case, LATENCY.arms[0], worker_paths).dataset_path is None
    record = journal.fold(journal.read(start_run(plan, Options(seed=7, reports=tmp_path / "reports"), site) / JOURNAL))
    assert record.settings.target == 0.8
    assert record.settings.own_images == site.trained.recorded if site.trained else False
    (artifact,) = [each for each in record.artifacts if each.name == "own images"]
    assert record.settings.own_images is not None
    assert artifact.made_by == {"folder": record.settings.own_images.sha256}
    assert str(folder).encode() not in msgspec.json.encode(record)
    site.caches.rmdir()


def test_the_command_in_a_record_does_not_say_where_the_images_are() -> None:
    words = ["bench", "--data", "/home/ada/cats", "--target", "90%", "--data=/home/ada/cats"]
    assert without_paths(words) == ["bench", "--target", "90%"]


def test_a_target_alone_is_recorded_too(tmp_path: Path) -> None:
    assert TrainingData(tmp_path, target=0.9).recorded is None

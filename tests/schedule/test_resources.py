"""Where workers run and which task they load, with the paths that they see."""

from pathlib import Path

import msgspec
import pytest

from levelfield.launchers.host import HostLauncher
from levelfield.launchers.protocol import LaunchSpec, WorkerPaths
from levelfield.launchers.worker import Worker
from levelfield.record.schema import Arm, Case
from levelfield.scenarios import ScenarioName
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import cache_folder, task_for
from tests import canaries


class Counting(HostLauncher):
    """Remembers whom it launched."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def launch(self, spec: LaunchSpec) -> Worker:
        self.names.append(spec.name)
        return super().launch(spec)


def test_arms_have_compile_caches_of_their_own(reports: Path) -> None:
    site = canaries.site(canaries.plan("latency"))
    case = Case("mlp", "latency", "fp32", 1, 1)
    other = Case("bert", "latency", "fp32", 1, 1)
    folders = {
        cache_folder(site, each, arm)
        for each in (case, other)
        for arm in (Arm("jax", "jax"), Arm("jax", "jax", ordinal=2), Arm("jax", "jax", settings={"a": "../../x"}))
    }
    assert len(folders) == 6
    assert all(folder.parent == site.caches for folder in folders)


def test_a_task_names_files_as_the_worker_sees_them() -> None:
    site = canaries.site(canaries.plan("latency"))
    case = Case("mlp", "latency", "fp32", 1, 1)
    task = task_for(site, case, Arm("jax", "jax"), WorkerPaths(artifacts="/artifacts", cache="/cache", export=None))
    assert task.weights_path is not None
    assert task.weights_path.startswith("/artifacts/weights/mlp-")
    assert task.cache_path == "/cache"
    assert task.file_path is None


@pytest.mark.parametrize(
    ("scenario", "device", "loaded"),
    [
        ("operators", "cpu", "latency"),
        ("operators", "cuda", "latency-device"),
        ("latency", "cuda", "latency"),
        ("latency-device", "cuda", "latency-device"),
    ],
)
def test_on_a_gpu_the_arrays_of_an_operator_stay_there(scenario: ScenarioName, device: str, loaded: str) -> None:
    site = canaries.site(canaries.plan("latency"))
    case = Case("mlp", scenario, "fp32", 1, 1, device=device)
    paths = WorkerPaths(artifacts="/artifacts", cache="/cache", export=None)
    assert task_for(site, case, Arm("jax", "jax"), paths).scenario == loaded
    assert case.stays_on_device == (loaded == "latency-device")


def test_every_arm_lives_where_it_says(reports: Path) -> None:
    first, second = canaries.ARMS
    other = msgspec.structs.replace(second, launcher="venv")
    made = canaries.plan("latency", arms=(first, other))
    usual, named = Counting(), Counting()
    site = prepare(made, usual, SilentListener(), launchers={"venv": named})
    assert set(site.images) == {("", "canary", "cpu", None), ("venv", "canary", "cpu", None)}
    assert (site.launcher_of(first), site.launcher_of(other)) == (usual, named)
    harness = canaries.Harness(made, reports, where=site)
    run = harness.measure(where=site)
    assert {name.partition("/")[0] for name in named.names} == {other.id}
    assert {name.partition("/")[0] for name in usual.names} == {first.id, "canary"}
    assert all(turn.window for each in run.blocks[0].generations for one in each.rounds for turn in one.turns)

"""Where workers run and which task they load, with the paths that they see."""

from pathlib import Path

import msgspec
import pytest

from levelfield.launchers.host import HostLauncher
from levelfield.launchers.protocol import LaunchSpec, WorkerPaths
from levelfield.launchers.worker import Worker
from levelfield.plan import CANARY
from levelfield.plan.types import file_key
from levelfield.prepare.artifacts import Artifacts, ModelFile
from levelfield.record.schema import Arm, Artifact, Case, Computed
from levelfield.scenarios import ScenarioName
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources, cache_folder, task_for
from tests import canaries

CASE = Case("mlp", "latency", "fp32", 1, 1)
JAX, TWIN, ORT = Arm("jax", "jax"), Arm("jax", "jax", ordinal=2), Arm("onnxruntime", "onnxruntime")


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


def own_site(folder: Path) -> RunResources:
    """Return resources with artifacts of their own."""
    return msgspec.structs.replace(canaries.site(canaries.plan("latency")), artifacts=Artifacts(folder))


def flip(path: Path) -> None:
    """Change one bit: the file keeps its name, size and inode."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_weights_are_known_to_the_arm_that_hashed_them_until_they_change(tmp_path: Path) -> None:
    where = own_site(tmp_path)
    weights = tmp_path / where.artifacts.weights("mlp")
    found = where.stamps(CASE, JAX)
    assert not where.is_hashed(CASE, JAX, found)
    where.remember_hashed(CASE, JAX, None)
    assert not where.is_hashed(CASE, JAX, found), "this launch hashed nothing"
    where.remember_hashed(CASE, JAX, found)
    assert where.is_hashed(CASE, JAX, where.stamps(CASE, JAX))
    assert not where.is_hashed(CASE, TWIN, where.stamps(CASE, TWIN)), "every arm hashes what it reads"
    flip(weights)
    assert not where.is_hashed(CASE, JAX, where.stamps(CASE, JAX))


def test_a_model_file_changes_with_the_tensors_beside_it(tmp_path: Path) -> None:
    for name in ("model.onnx", "model.onnx.data", "manifest.json"):
        (tmp_path / name).write_bytes(bytes(8))
    file = ModelFile("model.onnx", "0" * 64, Artifact("mlp", "0" * 64, 8))
    key = file_key(CASE, ORT)
    assert key is not None
    where = msgspec.structs.replace(own_site(tmp_path), files={key: file})
    found = where.stamps(CASE, ORT)
    where.remember_hashed(CASE, ORT, found)
    (tmp_path / "manifest.json").write_bytes(bytes(9))
    assert where.is_hashed(CASE, ORT, where.stamps(CASE, ORT))
    flip(tmp_path / "model.onnx.data")
    assert not where.is_hashed(CASE, ORT, where.stamps(CASE, ORT))


def test_what_is_made_in_the_worker_is_hashed_in_every_launch(tmp_path: Path) -> None:
    where = own_site(tmp_path)
    target = msgspec.structs.replace(CASE, scenario="convergence")
    canary = msgspec.structs.replace(CASE, model=CANARY)
    for case, arm in ((target, JAX), (canary, Arm(CANARY, CANARY))):
        found = where.stamps(case, arm)
        assert found == ()
        where.remember_hashed(case, arm, found)
        assert not where.is_hashed(case, arm, found)


def test_an_arm_is_asked_once_in_what_it_computes() -> None:
    resources = canaries.site(canaries.plan("memory"))
    arm, other = Arm("torch", "torch"), Arm("jax", "jax")
    latency, memory = (Case("mlp", scenario, "fp32", 1, 2) for scenario in ("latency", "memory"))
    batches = Case("mlp", "throughput", "fp32", 1000, 2)
    found = Computed({"fp32": 6}, "what it prints")
    assert resources.known_computed(latency, arm) is None
    resources.remember_computed(latency, arm, None)
    assert resources.known_computed(latency, arm) is None, "it did not say"
    resources.remember_computed(latency, arm, found)
    assert resources.known_computed(latency, arm) == found
    assert resources.known_computed(memory, arm) == found, "of no timed case, where any launch was asked"
    assert resources.known_computed(batches, arm) is None, "another batch may have other kernels"
    assert resources.known_computed(latency, other) is None
    low = msgspec.structs.replace(memory, precision="bf16")
    assert resources.known_computed(low, arm) is None


def test_on_a_gpu_every_launch_is_asked_of_what_may_choose_other_kernels() -> None:
    resources = canaries.site(canaries.plan("memory"))
    case, found = Case("mlp", "latency", "fp32", 1, 2, device="cuda"), Computed({"fp32": 6}, "what it prints")
    for arm in (Arm("jax", "jax"), Arm("torch", "torch"), Arm("torch-compile", "torch-compile")):
        resources.remember_computed(case, arm, found)
        expected = None if arm.backend == "jax" else found
        assert resources.known_computed(case, arm) == expected

"""Where workers live and what they are told, as they see it."""

from pathlib import Path

from suite.launchers.protocol import Inside
from suite.records.schema import Arm, Case
from suite.site import cache_folder, task_for
from tests import canaries


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
    site.caches.rmdir()


def test_a_task_names_files_as_the_worker_sees_them() -> None:
    site = canaries.site(canaries.plan("latency"))
    case = Case("mlp", "latency", "fp32", 1, 1)
    task = task_for(site, case, Arm("jax", "jax"), Inside(artifacts="/artifacts", cache="/cache", export=None))
    assert task.weights_path is not None
    assert task.weights_path.startswith("/artifacts/weights/mlp-")
    assert task.cache_path == "/cache"
    assert task.onnx_path is None
    site.caches.rmdir()

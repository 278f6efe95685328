"""Where workers run and which task they load, with the paths that they see."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import docker
import msgspec
import pytest

from levelfield.launchers.docker import DockerLauncher
from levelfield.launchers.host import HostLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.worker import Worker
from levelfield.paths import MARK
from levelfield.plan.types import file_key
from levelfield.prepare.artifacts import Artifacts, ModelFile
from levelfield.prepare.own_model.reference import Reference
from levelfield.record.schema import Arm, Artifact, Case, Image, OwnFile, OwnInput
from levelfield.schedule import launches, resources
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources
from tests import canaries
from tests.known import known

CASE = Case("mlp", "latency", "fp32", 1, 1)
JAX, TWIN, ORT = Arm("jax", "jax"), Arm("jax", "jax", ordinal=2), Arm("onnxruntime", "onnxruntime")


class Counting(HostLauncher):
    """Remembers whom it launched, and says that it is another launcher."""

    def __init__(self, place: Literal["venv", "host"] = "host") -> None:
        self.names: list[str] = []
        self._place: Literal["venv", "host"] = place

    def prepare(self, *asked: Any) -> Image:
        made = super().prepare(*asked)
        return (
            made
            if self._place == "host"
            else msgspec.structs.replace(made, launcher=self._place, tag=self._place, unlocked="")
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        self.names.append(spec.name)
        return super().launch(spec)


def test_every_arm_lives_where_it_says(reports: Path) -> None:
    first, second = canaries.ARMS
    other = msgspec.structs.replace(second, launcher="venv")
    made = canaries.plan("latency", arms=(first, other))
    usual, named = Counting(), Counting("venv")
    site = prepare(made, usual, SilentListener(), launchers={"venv": named})
    assert set(site.images) == {("", "canary", "cpu", None), ("venv", "canary", "cpu", None)}
    assert (site.launcher_of(first), site.launcher_of(other)) == (usual, named)
    run = canaries.Harness(made, reports, where=site).measure(where=site)
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
    key = known(file_key(CASE, ORT))
    where = msgspec.structs.replace(own_site(tmp_path), files={key: file})
    where.remember_hashed(CASE, ORT, where.stamps(CASE, ORT))
    (tmp_path / "manifest.json").write_bytes(bytes(9))
    assert where.is_hashed(CASE, ORT, where.stamps(CASE, ORT))
    flip(tmp_path / "model.onnx.data")
    assert not where.is_hashed(CASE, ORT, where.stamps(CASE, ORT))


def test_a_worker_of_a_users_own_model_reads_that_model_alone(tmp_path: Path) -> None:
    given = OwnInput("x", "float32", (4,), False, sha256="2" * 64)
    own = OwnFile("net", "net.onnx", "1" * 64, 8, (given,), (), "fp32", 20)
    python = msgspec.structs.replace(own, model="net-build", inputs=(), function="build")
    where = msgspec.structs.replace(
        own_site(tmp_path),
        own=(Reference(own, {}, {}, ()), Reference(python, {}, {}, ())),
        judged=("evaluation/a.npy",),
    )
    handed = ("evaluation/a.npy",)
    folder = f"own/{'1' * 64}"
    case = msgspec.structs.replace(CASE, model="net")
    assert resources.readable(where, case) == (folder, f"own/{'2' * 64}.npy", *handed)
    assert resources.readable(where, msgspec.structs.replace(CASE, model="net-build")) == (folder, *handed)
    launcher = DockerLauncher(docker.DockerClient("tcp://127.0.0.1:1", version="1.44"))
    launcher._asked = True  # as if the engine had said that it sees our files
    mounts = launcher._mounts(launches._spec(where, case, canaries.ARMS[0]))
    read = {each["Target"]: each["Source"] for each in mounts if each["ReadOnly"]}
    asked = (folder, f"own/{'2' * 64}.npy", *handed)
    assert read == {f"/artifacts/{each}": str(tmp_path / each) for each in asked}
    assert [each["Target"] for each in mounts if not each["ReadOnly"]] == ["/cache"]


def test_a_worker_reads_the_files_of_its_model_for_all_cases_of_its_launch(tmp_path: Path) -> None:
    file, other = (ModelFile(f"onnx/{name}/model.onnx", "0" * 64, Artifact(name, "0" * 64, 8)) for name in "ab")
    key = known(file_key(CASE, ORT))
    files = {key: file, key._replace(model="vit"): other}
    where = msgspec.structs.replace(own_site(tmp_path), files=files, weights_sha256={"mlp": "", "vit": ""})
    weights, of_vit = where.artifacts.weights("mlp"), where.artifacts.weights("vit")
    assert resources.readable(where, CASE) == ("onnx/a", weights)
    fed = msgspec.structs.replace(CASE, scenario="data-pipeline")
    assert resources.readable(where, fed) == (where.artifacts.dataset("mlp"), "onnx/a", weights)
    assert resources.readable(where, CASE) == resources.readable(where, fed), "one launch answers both"
    operators = msgspec.structs.replace(CASE, scenario="operators")
    assert {"onnx/a", "onnx/b", weights, of_vit} <= {*resources.readable(where, operators)}


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_killed_runs_folder_is_removed_and_a_live_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    killed = (
        "import os, signal; from levelfield.schedule import resources;"
        " print(resources.new_caches(), flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", killed], stdout=subprocess.PIPE, check=False)
    left = Path(done.stdout.decode().strip())
    assert left.is_dir()
    mine = resources.new_caches()
    assert not left.parent.exists()
    assert mine.is_dir()
    resources.remove_caches(mine)
    assert {each.name for each in (tmp_path / "cache" / "temporary").iterdir()} == {MARK, ".lock"}

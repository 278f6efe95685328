"""The proof that all workers compute with the same weights, where not every launch hashes them."""

from pathlib import Path

import msgspec

from levelfield.plan import CANARY
from levelfield.plan.types import file_key
from levelfield.prepare.artifacts import Artifacts, ModelFile
from levelfield.record.schema import Arm, Artifact, Case
from levelfield.schedule import hashed
from levelfield.schedule.resources import RunResources
from tests.canaries import plan, site

CASE = Case("mlp", "latency", "fp32", 1, 1)
JAX, TWIN, ORT = Arm("jax", "jax"), Arm("jax", "jax", ordinal=2), Arm("onnxruntime", "onnxruntime")


def own_site(folder: Path) -> RunResources:
    """Return resources with artifacts of their own."""
    return msgspec.structs.replace(site(plan("latency")), artifacts=Artifacts(folder))


def flip(path: Path) -> None:
    """Change one bit: the file keeps its name, size and inode."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_weights_are_known_to_the_arm_that_hashed_them_until_they_change(tmp_path: Path) -> None:
    where = own_site(tmp_path)
    weights = tmp_path / where.artifacts.weights("mlp")
    found = hashed.stamps(where, CASE, JAX)
    assert not hashed.known(where, CASE, JAX, found)
    hashed.remember(where, CASE, JAX, None)
    assert not hashed.known(where, CASE, JAX, found), "this launch hashed nothing"
    hashed.remember(where, CASE, JAX, found)
    assert hashed.known(where, CASE, JAX, hashed.stamps(where, CASE, JAX))
    assert not hashed.known(where, CASE, TWIN, hashed.stamps(where, CASE, TWIN)), "every arm hashes what it reads"
    flip(weights)
    assert not hashed.known(where, CASE, JAX, hashed.stamps(where, CASE, JAX))


def test_a_model_file_changes_with_the_tensors_beside_it(tmp_path: Path) -> None:
    for name in ("model.onnx", "model.onnx.data", "manifest.json"):
        (tmp_path / name).write_bytes(bytes(8))
    file = ModelFile("model.onnx", "0" * 64, Artifact("mlp", "0" * 64, 8))
    key = file_key(CASE, ORT)
    assert key is not None
    where = msgspec.structs.replace(own_site(tmp_path), files={key: file})
    found = hashed.stamps(where, CASE, ORT)
    hashed.remember(where, CASE, ORT, found)
    (tmp_path / "manifest.json").write_bytes(bytes(9))
    assert hashed.known(where, CASE, ORT, hashed.stamps(where, CASE, ORT))
    flip(tmp_path / "model.onnx.data")
    assert not hashed.known(where, CASE, ORT, hashed.stamps(where, CASE, ORT))


def test_what_is_made_in_the_worker_is_hashed_in_every_launch(tmp_path: Path) -> None:
    where = own_site(tmp_path)
    target = msgspec.structs.replace(CASE, scenario="convergence")
    canary = msgspec.structs.replace(CASE, model=CANARY)
    for case, arm in ((target, JAX), (canary, Arm(CANARY, CANARY))):
        found = hashed.stamps(where, case, arm)
        assert found == ()
        hashed.remember(where, case, arm, found)
        assert not hashed.known(where, case, arm, found)

"""Copies of users' own files: what is kept and read from them, what is refused and how, and what workers get."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield import plan
from levelfield.options.registry import rerun
from levelfield.paths import cache_folder
from levelfield.prepare.own_model import onnx_format, store
from levelfield.run import reproduce
from tests.prepare.own_model import onnx_files
from tests.prepare.own_model.onnx_files import read, refused
from tests.records_builder import make_run

pytestmark = pytest.mark.usefixtures("cache")


def test_a_file_is_kept_by_content_and_described(tmp_path: Path) -> None:
    content = onnx_files.classifier()
    one = read(onnx_files.write(tmp_path, "my model (2).onnx", content))
    digest = hashlib.sha256(content).hexdigest()
    assert (one.sha256, one.size_bytes, one.model) == (digest, len(content), f"my_model_2_-{digest[:8]}")
    assert [(each.name, each.dtype, each.shape, each.batched) for each in one.inputs] == [
        ("features", "float32", (16,), True)
    ]
    assert one.outputs == ("probabilities", "class")
    assert (one.precision, one.opset, one.batched) == ("fp32", 17, True)
    kept = cache_folder("artifacts") / "own" / digest / store.MODEL
    assert kept.read_bytes() == content
    assert store.find_recorded(one) == one
    kept.unlink()
    with refused("my model .2..onnx", "is not here", "--model PATH"):
        store.find_recorded(one)


def test_workers_get_the_file_with_all_its_sizes(tmp_path: Path) -> None:
    one = read(onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder()), {"sequence": 12})
    made = store.prepared(one, 4)
    path = cache_folder("artifacts") / made.path
    graph = onnx_format.read_graph(memoryview(path.read_bytes()))
    assert [[side.size for side in value.shape or ()] for value in graph.inputs] == [[4, 12], [4, 12]]
    assert store.prepared(one, 4) == made
    assert store.prepared(one, 8).sha256 != made.sha256
    whole = read(onnx_files.write(tmp_path, "fixed.onnx", onnx_files.classifier(batch=2)))
    there = cache_folder("artifacts") / store.prepared(whole, 1).path
    assert there.read_bytes() == onnx_files.classifier(batch=2), "it is given as it is"


def test_a_copy_that_was_changed_is_not_used(tmp_path: Path) -> None:
    path, values = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder()), tmp_path / "ids.npy"
    one = read(path, {"sequence": 12})
    made = store.prepared(one, 4)
    for changed in (
        cache_folder("artifacts") / "own" / one.sha256 / store.MODEL,
        cache_folder("artifacts") / made.path,
    ):
        changed.write_bytes(onnx_files.classifier())
    with refused("which is not here, or was changed", "--model PATH"):
        store.find_recorded(one)
    assert read(path, {"sequence": 12}) == one
    assert store.find_recorded(one) == one
    assert store.prepared(one, 4) == made
    np.save(values, np.zeros((1, 12), np.int64))
    with_values = store.read(path, {"sequence": 12}, {one.inputs[0].name: values})
    digest = with_values.inputs[0].sha256
    (cache_folder("artifacts") / "own" / f"{digest}.npy").write_bytes(b"")
    with refused("which are not here, or were changed"):
        store.find_recorded(with_values)


def test_a_file_with_conditions_keeps_its_own_sizes(tmp_path: Path) -> None:
    value = onnx_files.value("x", onnx_files.FLOAT, ["batch", 2])
    path = onnx_files.write(
        tmp_path, "if.onnx", onnx_files.model([onnx_files.node("If", ["x"], ["y"])], [], [value], [value])
    )
    one = read(path)
    assert one.batched
    assert (cache_folder("artifacts") / store.prepared(one, 4).path).read_bytes() == path.read_bytes()


def test_weights_in_the_cache_of_the_hub_are_links(tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "1" / "onnx", tmp_path / "models--a--b" / "blobs"
    for folder in (snapshot, blobs):
        folder.mkdir(parents=True)
    for name, content in {"m.onnx": onnx_files.classifier(beside="m.onnx_data"),
                          "m.onnx_data": onnx_files.weights_of_classifier()}.items():  # fmt: skip
        blob = blobs / hashlib.sha256(content).hexdigest()
        blob.write_bytes(content)
        (snapshot / name).symlink_to(f"../../../blobs/{blob.name}")
    one = read(snapshot / "m.onnx")
    assert one.beside == {"m.onnx_data": hashlib.sha256(onnx_files.weights_of_classifier()).hexdigest()}


def test_weights_beside_it_travel_with_it(tmp_path: Path) -> None:
    content = onnx_files.classifier(beside="w.bin")
    with refused("keeps weights in w.bin, which is not beside it"):
        read(onnx_files.write(tmp_path, "big.onnx", content))
    one = read(onnx_files.write(tmp_path, "big.onnx", content, {"w.bin": onnx_files.weights_of_classifier()}))
    assert one.size_bytes == len(content) + len(onnx_files.weights_of_classifier())
    assert one.beside == {"w.bin": hashlib.sha256(onnx_files.weights_of_classifier()).hexdigest()}
    folder = (cache_folder("artifacts") / store.prepared(one, 1).path).parent
    assert (folder / "w.bin").read_bytes() == onnx_files.weights_of_classifier()
    assert {artifact.name for artifact in store.artifacts(one)} == {"big.onnx", "w.bin"}
    (tmp_path / "w.bin").write_bytes(b"other")
    assert read(tmp_path / "big.onnx").model != one.model


@pytest.mark.parametrize("place", ["../w.bin", "/etc/passwd", "..", "model.onnx", ".hidden"])
def test_weights_elsewhere_are_not_read(tmp_path: Path, place: str) -> None:
    path = onnx_files.write(tmp_path, "big.onnx", onnx_files.classifier(beside=place))
    with refused("only files in its own folder"):
        read(path)


def test_a_link_beside_it_that_leaves_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    path = onnx_files.write(tmp_path / "given", "big.onnx", onnx_files.classifier(beside="w.bin"))
    secret = tmp_path / "secret"
    secret.write_bytes(onnx_files.weights_of_classifier())
    path.with_name("w.bin").symlink_to(secret)
    with refused("w.bin cannot be read: it is a link to a file outside of its folder"):
        read(path)


def test_copies_are_their_owners_alone(tmp_path: Path) -> None:
    """The mode of a file says nothing: the folder that it lies in may let nobody through."""
    content = onnx_files.classifier(beside="w.bin")
    path = onnx_files.write(tmp_path, "big.onnx", content, {"w.bin": onnx_files.weights_of_classifier()})
    kept = read(path)
    copies = [*(cache_folder("artifacts") / "own").rglob("model.onnx"), *cache_folder("artifacts").rglob("w.bin")]
    copies.append(cache_folder("artifacts") / store.prepared(kept, 2).path)
    assert len(copies) > 2
    assert {each.stat().st_mode & 0o777 for each in copies} == {0o600}
    assert {each.parent.stat().st_mode & 0o777 for each in copies} == {0o700}


def test_what_takes_no_space_takes_none_in_the_cache(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "big.onnx", onnx_files.classifier(beside="w.bin"))
    given, size_bytes = path.with_name("w.bin"), 64 << 20
    given.write_bytes(onnx_files.weights_of_classifier())
    os.truncate(given, size_bytes)
    kept = read(path)
    (copy,) = cache_folder("artifacts").rglob("w.bin")
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == kept.beside["w.bin"]
    assert copy.stat().st_size == size_bytes
    assert copy.stat().st_blocks * 512 <= 8 << 20


def test_what_the_disk_has_no_room_for_is_not_copied(tmp_path: Path) -> None:
    size_bytes = 1 << 40
    if shutil.disk_usage(tmp_path).free > 2 * size_bytes:
        pytest.skip("there is room for it")
    path = onnx_files.write(tmp_path, "big.onnx", onnx_files.classifier(beside="w.bin"))
    path.with_name("w.bin").touch()
    os.truncate(path.with_name("w.bin"), size_bytes)
    with refused("w.bin cannot be copied: .* free at", "takes 2048.0 GiB", "levelfield images clean"):
        read(path)
    assert not list(cache_folder("artifacts").rglob("w.bin"))


def test_values_of_ones_own(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier())
    np.save(tmp_path / "x.npy", np.ones((3, 16), dtype=np.float32))
    one = read(path, values={"features": tmp_path / "x.npy"})
    assert one.inputs[0].sha256 == hashlib.sha256((tmp_path / "x.npy").read_bytes()).hexdigest()
    assert store.find_recorded(one) == one
    np.save(tmp_path / "wrong.npy", np.ones((3, 15), dtype=np.float32))
    with refused("takes float32 of .items, 16."):
        read(path, values={"features": tmp_path / "wrong.npy"})
    np.save(tmp_path / "pickle.npy", np.array([object()]), allow_pickle=True)
    with refused("cannot be taken"):
        read(path, values={"features": tmp_path / "pickle.npy"})
    np.savez(tmp_path / "several.npz", x=np.ones((3, 16), dtype=np.float32))
    with refused("no file of one array"):
        read(path, values={"features": tmp_path / "several.npz"})
    with refused("has no input other", "features"):
        read(path, values={"other": tmp_path / "x.npy"})


def test_files_that_are_none(tmp_path: Path) -> None:
    for content, says in (
        (b"", "It holds no graph|it holds no graph"),
        (b"hello, world", "is not an ONNX model, or a damaged one"),
        (os.urandom(4096), "is not an ONNX model, or a damaged one"),
        (onnx_files.classifier()[:-200], "it ends in the middle"),
    ):
        with refused(says):
            read(onnx_files.write(tmp_path, "x.onnx", content))
    with refused("cannot be read: No such file"):
        read(tmp_path / "none.onnx")
    with refused("not a plain file"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with refused("not a plain file"):
        read(tmp_path / "pipe")
    with (tmp_path / "long.onnx").open("wb") as file:
        file.truncate(store.MAX_BYTES + 1)
    with refused("longer than 2147483647 bytes", "in a file beside it"):
        read(tmp_path / "long.onnx")
    assert not list((cache_folder("artifacts") / "own").glob(".draft-*"))


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"sha256": "../../../etc/passwd"}, "no SHA-256"),
        ({"beside": {"w": "../x"}}, "no SHA-256"),
        ({"precision": "fp16"}, "says otherwise of encoder.onnx"),
    ],
)
def test_a_record_that_lies_about_the_file(tmp_path: Path, lie: dict[str, Any], says: str) -> None:
    one = read(onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder()), {"sequence": 12})
    with refused(says):
        store.find_recorded(msgspec.structs.replace(one, **lie))


def test_several_sizes_are_models_of_one_run(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    one = store.requested(path, (("sequence", "32,128,32"),))
    assert one is not None
    assert one.given_sizes == {"sequence": (32, 128)}
    assert [each.dimensions for each in one.sized] == [{"sequence": 32}, {"sequence": 128}]
    assert store.find_recorded(one) == one
    with refused("says otherwise of encoder.onnx"):
        store.find_recorded(msgspec.structs.replace(one, also=(msgspec.structs.replace(one.also[0], model="another"),)))
    with refused("--input asks for 25 combinations of sizes, and 24"):
        store.requested(path, (("sequence", ",".join(map(str, range(1, 26)))),))
    run = make_run(models=["mlp"], backends=["onnxruntime"], scenarios=["latency"], generations=1, rounds=1)
    measured = msgspec.structs.replace(run.settings, models=tuple(each.model for each in one.sized), own=one)
    assert "--model encoder.onnx --input sequence=32,128" in rerun(msgspec.structs.replace(run, settings=measured))


def test_a_report_of_it_is_run_again_by_content(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    one = read(path, {"sequence": 12})
    run = make_run(models=["mlp"], backends=["onnxruntime"], scenarios=["latency"], generations=1, rounds=1)
    measured = msgspec.structs.replace(run.settings, models=(one.model,), own=one)
    run = msgspec.structs.replace(run, settings=measured)
    assert reproduce.intent(run).selection.own == one
    assert plan.of_record(run).own == one
    assert "--model encoder.onnx --input sequence=12" in rerun(run)
    kept = cache_folder("artifacts") / "own" / one.sha256
    (kept / store.MODEL).unlink()
    with refused("The run measured encoder.onnx", "which is not here"):
        reproduce.intent(run)
    other = onnx_files.write(tmp_path, "other.onnx", onnx_files.classifier())
    with refused("other.onnx is not the file that was measured"):
        store.keep_recorded(other, one)
    store.keep_recorded(path, one)
    assert reproduce.intent(run).selection.own == one
    with refused("needs no file"):
        store.keep_recorded(path, None)

"""A user's own file: what is read from it, what is refused and how, and what workers get."""

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite import plan
from suite.backends import protobuf
from suite.errors import LevelfieldError
from suite.paths import cache_folder
from suite.plan import Selection
from suite.prepare.own_model import onnx_format, request, store
from suite.record.schema import OwnFile
from suite.report import rerun
from suite.run.reproduce import intent
from tests.prepare.own_model import onnx_files
from tests.records_builder import make_run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def read(path: Path, sizes: dict[str, int] | None = None, values: dict[str, Path] | None = None) -> OwnFile:
    return store.read(path, sizes or {}, values or {})


def refused(*says: str) -> Any:
    return pytest.raises(LevelfieldError, match=".*".join(says))


def test_a_file_is_kept_by_content_and_described(tmp_path: Path) -> None:
    content = onnx_files.classifier()
    one = read(onnx_files.write(tmp_path, "my model (2).onnx", content))
    digest = hashlib.sha256(content).hexdigest()
    assert one.sha256 == digest
    assert one.size_bytes == len(content)
    assert one.model == f"my_model_2_-{digest[:8]}"
    assert [(each.name, each.dtype, each.shape, each.batched) for each in one.inputs] == [
        ("features", "float32", (16,), True)
    ]
    assert one.outputs == ("probabilities", "class")
    assert (one.precision, one.opset, one.batched) == ("fp32", 17, True)
    kept = cache_folder("artifacts") / "own" / digest / store.MODEL
    assert kept.read_bytes() == content
    assert store.again(one) == one
    kept.unlink()
    with refused("my model .2..onnx", "is not here", "--model PATH"):
        store.again(one)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9\x1b[31m.onnx")
    path.write_bytes(onnx_files.classifier())
    one = read(path)
    assert one.file == "caf?\ufffd[31m.onnx"
    assert msgspec.json.decode(msgspec.json.encode(one), type=OwnFile) == one
    assert store.again(one) == one


def test_another_content_or_size_is_another_model(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    names = {read(path, {"sequence": size}).model for size in (12, 128)}
    names.add(read(onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder() + protobuf.text(2, b"me"))
                   , {"sequence": 12}).model)  # fmt: skip
    assert len(names) == 3
    assert all(name.startswith("encoder-") for name in names)


def test_only_the_batch_needs_no_size(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    with refused("The input tokens of encoder.onnx has the dimension sequence", "--dim sequence=128"):
        read(path)
    with refused("has no dimension sequense without a size", "sequence"):
        read(path, {"sequense": 12})
    with refused("cannot be 0 long"):
        read(path, {"sequence": 0})
    one = read(path, {"sequence": 12})
    assert [(each.shape, each.batched) for each in one.inputs] == [((12,), True)] * 2
    assert one.dimensions == {"sequence": 12}
    fixed = read(path, {"sequence": 12, "batch": 3})
    assert not fixed.batched
    by_place = read(path, {"tokens[1]": 12, "mask[1]": 12})
    assert [(each.shape, each.batched) for each in by_place.inputs] == [((12,), True)] * 2


def test_two_beginnings_are_not_one_batch(tmp_path: Path) -> None:
    shapes = (onnx_files.value("a", 1, ["n", 2]), onnx_files.value("b", 1, ["m", 2]))
    content = onnx_files.model([], [], shapes, [onnx_files.value("y", 1, [1])])
    path = onnx_files.write(tmp_path, "two.onnx", content)
    with refused("begin with different dimensions", "n and m", "--dim m=128"):
        read(path)
    assert [(each.shape, each.batched) for each in read(path, {"m": 4}).inputs] == [((2,), True), ((4, 2), False)]


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


@pytest.mark.parametrize("place", ["../w.bin", "/etc/passwd", "a/b", "..", "model.onnx", ".hidden", "a\\b"])
def test_weights_elsewhere_are_not_read(tmp_path: Path, place: str) -> None:
    path = onnx_files.write(tmp_path, "big.onnx", onnx_files.classifier(beside=place))
    with refused("only files in its own folder"):
        read(path)


def test_values_of_ones_own(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier())
    np.save(tmp_path / "x.npy", np.ones((3, 16), dtype=np.float32))
    one = read(path, values={"features": tmp_path / "x.npy"})
    assert one.inputs[0].sha256 == hashlib.sha256((tmp_path / "x.npy").read_bytes()).hexdigest()
    assert store.again(one) == one
    np.save(tmp_path / "wrong.npy", np.ones((3, 15), dtype=np.float32))
    with refused("takes float32 of .items, 16."):
        read(path, values={"features": tmp_path / "wrong.npy"})
    np.save(tmp_path / "pickle.npy", np.array([object()]), allow_pickle=True)
    with refused("cannot be taken"):
        read(path, values={"features": tmp_path / "pickle.npy"})
    np.savez(tmp_path / "several.npz", x=np.ones((3, 16), dtype=np.float32))
    with refused("archive of several arrays"):
        read(path, values={"features": tmp_path / "several.npz"})
    for wrong in (np.ones((0, 16), dtype=np.float32), np.float32(1)):
        np.save(tmp_path / "wrong.npy", wrong)
        with refused("cannot be taken"):
            read(path, values={"features": tmp_path / "wrong.npy"})
    long = (tmp_path / "x.npy").read_bytes().replace(b"(3, 16), }", b"(3" + b"0" * 7 + b",16)}")
    (tmp_path / "long.npy").write_bytes(long)
    with refused("cannot be taken"):
        read(path, values={"features": tmp_path / "long.npy"})
    with refused("has no input other", "features"):
        read(path, values={"other": tmp_path / "x.npy"})


def test_what_cannot_be_measured_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def of(inputs: list[bytes], outputs: list[bytes]) -> Path:
        return onnx_files.write(tmp_path, "odd.onnx", onnx_files.model([], [], inputs, outputs))

    number = onnx_files.value("x", onnx_files.FLOAT, [1])
    with refused("has no inputs"):
        read(of([], [number]))
    with refused("has no outputs"):
        read(of([number], []))
    with refused("input x of odd.onnx takes string"):
        read(of([onnx_files.value("x", onnx_files.STRING, [1])], [number]))
    with refused("input x of odd.onnx takes bfloat16"):
        read(of([onnx_files.value("x", 16, [1])], [number]))
    with refused("does not say how many dimensions its input x has"):
        read(of([onnx_files.value("x", onnx_files.FLOAT, None)], [number]))
    with refused("output y of odd.onnx is no tensor", "zipmap=False"):
        read(of([number], [protobuf.text(1, b"y") + protobuf.text(2, protobuf.text(4, b""))]))
    with refused("two inputs of one name"):
        read(of([number, number], [number]))


def test_files_that_are_none(tmp_path: Path) -> None:
    for content, says in (
        (b"", "It holds no graph|it holds no graph"),
        (b"hello, world", "is not an ONNX model, or a damaged one"),
        (os.urandom(4096), "is not an ONNX model, or a damaged one"),
        (onnx_files.classifier()[:-200], "it ends in the middle"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
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


@settings(max_examples=300, deadline=None)
@given(cut=st.integers(0, 10_000), place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(cut: int, place: int, byte: int) -> None:
    content = bytearray(onnx_files.encoder())
    content[place % len(content)] = byte
    del content[cut % (2 * len(content)) :]
    try:
        onnx_format.read_graph(memoryview(bytes(content)))
        b"".join(onnx_format.fixed(memoryview(bytes(content)), {"tokens": (1, 12)}))
    except protobuf.MalformedError:
        pass


def test_what_is_planned_for_it(tmp_path: Path) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier()))
    made = plan.make(Selection("standard", own=one), available=[0, 1])
    assert made.models == (one.model,)
    assert {arm.backend for block in made.blocks for arm in block.arms} == {"onnxruntime", "openvino"}
    assert [block.case.id.removeprefix(f"{one.model}/") for block in made.blocks] == [
        "cold-start/fp32/b1/t2/cpu", "memory/fp32/b1/t2/cpu", "latency/fp32/b1/t2/cpu",
    ]  # fmt: skip
    assert "exporter" not in made.images
    assert not made.needs_onnx
    assert "onnxruntime" in plan.make(Selection("smoke", own=one, backends=("openvino",))).images, "the reference's"


def test_its_throughput_is_of_two_items_or_more(tmp_path: Path) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier()))

    def batches(selection: Selection) -> list[int]:
        found = plan.make(selection, available=[0, 1])
        return [block.case.batch for block in found.blocks if block.case.scenario == "throughput"]

    assert batches(Selection("standard", own=one)) == []
    assert batches(Selection("standard", own=one, scenarios=("throughput",))) == [4]
    assert batches(Selection("standard", own=one, batches=(8, 2))) == [8, 2]
    assert batches(Selection("full", own=one)) == [4, 8, 16]
    with refused("one item at a time is latency"):
        plan.make(Selection(own=one, batches=(1, 8)))
    recorded = Selection(own=one, scenarios=("latency", "throughput"), batches_of={one.model: (1,)})
    assert batches(recorded) == [1], "a run of before is measured again as it was"


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"models": ("mlp",)}, "--models names those of this tool"),
        ({"backends": ("torch", "onnxruntime", "jax")}, "torch, jax read no ONNX file"),
        ({"backends": ("torch",)}, "torch reads no ONNX file"),
        ({"scenarios": ("training",)}, "cannot be measured in training: a file says how to answer"),
        ({"scenarios": ("convergence",)}, "cannot be measured in convergence"),
        ({"scenarios": ("data-pipeline",)}, "there is no dataset for it"),
        ({"precisions": ("bf16",)}, "is in fp32, and is measured as it is"),
    ],
)
def test_what_it_is_not_for(tmp_path: Path, wish: dict[str, Any], says: str) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier()))
    with refused(says):
        plan.make(Selection("smoke", own=one, **wish))


def test_fixed_shapes_leave_no_choice(tmp_path: Path) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier(batch=5)))
    with refused("The shapes of m.onnx are fixed"):
        plan.make(Selection("smoke", own=one, batches=(8,)))
    with refused("its throughput is 1 ÷ latency", "--scenarios latency"):
        plan.make(Selection("smoke", own=one, scenarios=("throughput",)))
    made = plan.make(Selection("full", own=one))
    assert made.batches == {}
    assert {block.case.scenario for block in made.blocks} == {"cold-start", "memory", "latency"}
    recorded = Selection("full", own=one, scenarios=("throughput",), batches_of={one.model: (1,)})
    assert [block.case.batch for block in plan.make(recorded).blocks] == [1], "as it was measured before"


def test_options_without_a_file(tmp_path: Path) -> None:
    with refused("--dim is about a file", "--model FILE.onnx"):
        request.read(None, (("a", "1"),), ())
    path = onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier())
    with refused("--dim was given twice for a"):
        request.read(path, (("a", "1"), ("a", "2")), ())
    assert request.read(None, (), ()) is None


def test_a_report_of_it_is_run_again_by_content(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    one = read(path, {"sequence": 12})
    run = make_run(models=["mlp"], backends=["onnxruntime"], scenarios=["latency"], generations=1, rounds=1)
    measured = msgspec.structs.replace(run.settings, models=(one.model,), own=one)
    run = msgspec.structs.replace(run, settings=measured)
    assert intent.read(run).selection.own == one
    assert plan.of_record(run).own == one
    assert "--model encoder.onnx --dim sequence=12" in rerun.command(run)
    kept = cache_folder("artifacts") / "own" / one.sha256
    (kept / store.MODEL).unlink()
    with refused("The run measured encoder.onnx", "which is not here"):
        intent.read(run)
    other = onnx_files.write(tmp_path, "other.onnx", onnx_files.classifier())
    with refused("other.onnx is not the file that was measured"):
        request.give(other, one)
    request.give(path, one)
    assert intent.read(run).selection.own == one
    with refused("needs no file"):
        request.give(path, None)


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"sha256": "../../../etc/passwd"}, "no SHA-256"),
        ({"beside": {"w": "../x"}}, "no SHA-256"),
        ({"model": "another"}, "says otherwise of encoder.onnx"),
        ({"outputs": ("y",)}, "says otherwise of encoder.onnx"),
        ({"precision": "fp16"}, "says otherwise of encoder.onnx"),
    ],
)
def test_a_record_that_lies_about_the_file(tmp_path: Path, lie: dict[str, Any], says: str) -> None:
    one = read(onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder()), {"sequence": 12})
    with refused(says):
        store.again(msgspec.structs.replace(one, **lie))

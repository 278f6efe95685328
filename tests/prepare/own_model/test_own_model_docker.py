"""A user's own file from the command to the report, in real containers."""

from pathlib import Path

import docker
import numpy as np
import pytest

from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from tests.commands import one_clear_sentence, run
from tests.engines import none_left
from tests.prepare.own_model import onnx_files

pytestmark = pytest.mark.docker


def test_a_file_of_ones_own(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    command = run(
        "bench", "--profile", "smoke", "--model", path, "--input", "sequence=12,24", "--control", "none",
        "--scenarios", "throughput", "--batch", "3", "--reports", tmp_path / "reports", folder=tmp_path, code=0,
    )  # fmt: skip
    assert "asking ONNX Runtime, with its optimisations off, for the answers of encoder.onnx" in command.out
    (folder,) = (file.parent for file in (tmp_path / "reports").glob("*/report.html"))
    one = files.read(folder)
    own = one.settings.own
    assert own is not None
    assert [block.case.id for block in one.blocks] == [
        f"{each.model}/throughput/fp32/b3/t{one.settings.threads}/cpu" for each in own.sized
    ]
    for block in one.blocks:
        for launch in (launch for generation in block.generations for launch in generation.launches):
            assert launch.failure is None
            assert launch.parity is not None
            assert launch.parity.equal, launch.parity.reason
            assert launch.parity.tolerance == (1e-5 if launch.arm == block.canary else 1e-4)
            assert launch.onnx_sha256 or launch.arm == block.canary
    assert {image.name for image in one.images} == {"onnxruntime", "openvino", "canary"}
    assert own.sha256 in {artifact.sha256 for artifact in one.artifacts if artifact.name == "encoder.onnx"}
    references = [each for each in one.artifacts if each.name.endswith(" batch 3 reference")]
    assert [each.name.partition(" ")[0] for each in references] == [each.model for each in own.sized]
    assert {each.made_by["graph optimisation"] for each in references} == {"ORT_DISABLE_ALL"}
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert "ONNX Runtime with all of its graph optimisations off" in page
    assert own.sha256 in page
    assert "Time of a call of encoder.onnx over sequence" in page
    assert "Time against size: encoder.onnx over sequence" in " ".join(command.out.split())
    assert str(tmp_path) not in page + files.content_of(folder).decode()
    assert run("verify", folder / REPORT, folder=tmp_path).code == 0
    again = run("reproduce", folder / REPORT, "--dry-run", folder=tmp_path)
    assert f"on {own.model}" in again.out, again.err

    # What only ONNX Runtime can find out: an operator that there is not.
    graph = onnx_files.model(
        [onnx_files.node("Nonsense", ["x"], ["y"])], [],
        [onnx_files.value("x", onnx_files.FLOAT, [1, 2])], [onnx_files.value("y", onnx_files.FLOAT, [1, 2])],
    )  # fmt: skip
    broken = onnx_files.write(tmp_path, "broken.onnx", graph)
    refused = run("bench", "--profile", "smoke", "--model", broken, "--backends", "openvino", folder=tmp_path)
    one_clear_sentence(refused, "cannot run broken.onnx", "Nonsense", "It has no such operator")
    assert str(tmp_path) not in refused.err
    # And that it draws random numbers, which its input decides.
    wide = [onnx_files.value(name, onnx_files.FLOAT, [1, 256]) for name in ("x", "y")]
    given = [onnx_files.tensor("r", np.array(0.5, "<f4")), onnx_files.tensor("t", np.array([True]).reshape(()))]
    drop = onnx_files.node("Dropout", ["x", "r", "t"], ["y"])
    path = onnx_files.write(tmp_path, "drop.onnx", onnx_files.model([drop], given, wide[:1], wide[1:]))
    drawn = run("bench", "--profile", "smoke", "--model", path, "--backends", "openvino", folder=tmp_path)
    one_clear_sentence(drawn, "drop.onnx answers otherwise when it is asked again", "Dropout in training mode")
    assert none_left(engine, command.pid)
    assert none_left(engine, refused.pid)


@pytest.mark.extended
@pytest.mark.parametrize("kind", ["half precision", "four bits", "an empty past", "batch inside", "answered, unread"])
def test_files_as_they_are(tmp_path: Path, kind: str) -> None:
    tmp_path.chmod(0o755)
    content, options, precision = _as_they_are(kind)
    path = onnx_files.write(tmp_path, "m.onnx", content)
    run(
        "bench", "--profile", "smoke", "--model", path, *options, "--control", "none", "--scenarios", "throughput",
        "--batch", "3", "--reports", tmp_path / "reports", folder=tmp_path, code=0,
    )  # fmt: skip
    (folder,) = (file.parent for file in (tmp_path / "reports").glob("*/report.html"))
    one = files.read(folder)
    assert one.settings.own is not None
    assert one.settings.own.precision == precision
    answered = [
        launch for block in one.blocks for generation in block.generations for launch in generation.launches
        if launch.arm != block.canary
    ]  # fmt: skip
    assert {launch.arm for launch in answered} == {"onnxruntime", "openvino"}
    for launch in answered:
        assert launch.parity is not None, launch.failure
        assert launch.parity.equal, launch.parity.reason


def _as_they_are(kind: str) -> tuple[bytes, tuple[str, ...], str]:
    """A file, the options that it needs, and its precision."""
    stream = np.random.Generator(np.random.Philox(9))
    if kind == "half precision":
        weights = onnx_files.tensor("w", stream.standard_normal((16, 4)).astype("<f2"))
        x, y = (onnx_files.value(name, onnx_files.FLOAT16, ["batch", size]) for name, size in (("x", 16), ("y", 4)))
        return onnx_files.model([onnx_files.node("MatMul", ["x", "w"], ["y"])], [weights], [x], [y]), (), "fp16"
    if kind == "four bits":
        sizes = {"K": 64, "N": 8, "bits": 4, "block_size": 32, "accuracy_level": 4}
        product = onnx_files.node(
            "MatMulNBits", ["x", "w", "scales"], ["y"],
            b"".join(onnx_files.integer(name, size) for name, size in sizes.items()), "com.microsoft",
        )  # fmt: skip
        weights = onnx_files.tensor("w", stream.integers(0, 256, (8, 2, 16)).astype("u1"))
        scales = onnx_files.tensor("scales", stream.random(16).astype("<f4"))
        x, y = (onnx_files.value(name, onnx_files.FLOAT, ["batch", size]) for name, size in (("x", 64), ("y", 8)))
        return onnx_files.model([product], [weights, scales], [x], [y]), (), "int4"
    if kind == "an empty past":
        node = onnx_files.node("Concat", ["cache", "x"], ["y"], onnx_files.integer("axis", 1))
        sides = {"cache": "past", "x": "s0", "y": "past + s0"}
        cache, x, y = (onnx_files.value(name, onnx_files.FLOAT, ["batch", side, 4]) for name, side in sides.items())
        return onnx_files.model([node], [], [cache, x], [y]), ("--input", "past=0", "--input", "s0=5"), "fp32"
    if kind == "answered, unread":
        x, y, z = (onnx_files.value(name, onnx_files.FLOAT, ["batch", 4]) for name in ("x", "y", "z"))
        return onnx_files.model([onnx_files.node("Identity", ["x"], ["y"])], [], [x, z], [y]), (), "fp32"
    nodes = [onnx_files.node("MatMul", ["x", "w"], ["hidden"]), onnx_files.node("Add", ["hidden", "state"], ["y"])]
    x = onnx_files.value("x", onnx_files.FLOAT, ["batch", 8])
    state, y = (onnx_files.value(name, onnx_files.FLOAT, [2, "batch", 8]) for name in ("state", "y"))
    weights = onnx_files.tensor("w", stream.standard_normal((8, 8)).astype("<f4"))
    return onnx_files.model(nodes, [weights], [x, state], [y]), (), "fp32"


@pytest.mark.extended
def test_an_answer_of_one_of_two_references_that_disagree_is_not_judged(tmp_path: Path) -> None:
    """Resize by scales with align_corners, as ONNX computes it and as all others do (onnx/onnx 2462)."""
    tmp_path.chmod(0o755)
    how = onnx_files.texts(mode="linear", coordinate_transformation_mode="align_corners")
    shapes: dict[str, onnx_files.Shape] = {"x": [1, 1, 2, 4], "scales": [4], "y": [1, 1, None, None]}
    x, scales, y = (onnx_files.value(name, onnx_files.FLOAT, shape) for name, shape in shapes.items())
    content = onnx_files.model([onnx_files.node("Resize", ["x", "", "scales"], ["y"], how)], [], [x, scales], [y])
    np.save(tmp_path / "scales.npy", np.array([1, 1, 0.6, 0.6], np.float32))
    command = run(
        "bench", "--profile", "smoke", "--model", onnx_files.write(tmp_path, "m.onnx", content), "--input",
        "scales=scales.npy", "--control", "none", "--reports", tmp_path / "reports", folder=tmp_path,
    )  # fmt: skip
    assert "2 cannot be judged, since two references disagree" in command.out, command.err + command.out


def test_a_file_that_the_optimiser_rejects_names_the_arm_that_runs_it(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """ONNX Runtime folds a valid graph to one that is none, up to 1.31 at least (microsoft/onnxruntime 32416)."""
    tmp_path.chmod(0o755)
    path = onnx_files.write(tmp_path, "fold.onnx", onnx_files.rejected_by_the_optimiser())
    command = run(
        "bench", "--profile", "smoke", "--model", path, "--backends", "onnxruntime,onnxruntime+graph=off",
        "--control", "none", "--scenarios", "latency", "--reports", tmp_path / "reports", folder=tmp_path, code=1,
    )  # fmt: skip
    assert "It loads with other settings: measure onnxruntime+graph=off." in " ".join(command.out.split())
    (folder,) = (file.parent for file in (tmp_path / "reports").glob("*/report.html"))
    launches = [each for one in files.read(folder).blocks for gen in one.generations for each in gen.launches]
    failed = {launch.arm: launch.failure is not None for launch in launches}
    assert failed["onnxruntime"]
    assert not failed["onnxruntime+graph=off"]
    assert none_left(engine, command.pid)

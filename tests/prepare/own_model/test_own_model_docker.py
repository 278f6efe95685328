"""A user's own file from the command to the report, in real containers."""

from pathlib import Path

import docker
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
        "--scenarios", "throughput", "--batch", "3", "--reports", tmp_path / "reports", folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
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
    one_clear_sentence(refused, "cannot run broken.onnx", "Nonsense", "onnx.checker.check_model")
    assert str(tmp_path) not in refused.err
    assert none_left(engine, command.pid)
    assert none_left(engine, refused.pid)


@pytest.mark.extended
def test_a_file_that_the_optimiser_rejects_names_the_arm_that_runs_it(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """ONNX Runtime folds a valid graph to one that is none, up to 1.31 at least (microsoft/onnxruntime 32416)."""
    tmp_path.chmod(0o755)
    path = onnx_files.write(tmp_path, "fold.onnx", onnx_files.rejected_by_the_optimiser())
    command = run(
        "bench", "--profile", "smoke", "--model", path, "--backends", "onnxruntime,onnxruntime+graph=off",
        "--control", "none", "--scenarios", "latency", "--reports", tmp_path / "reports", folder=tmp_path,
    )  # fmt: skip
    assert command.code == 1, command.err + command.out
    assert "It loads with other settings: measure onnxruntime+graph=off." in " ".join(command.out.split())
    (folder,) = (file.parent for file in (tmp_path / "reports").glob("*/report.html"))
    launches = [each for one in files.read(folder).blocks for gen in one.generations for each in gen.launches]
    failed = {launch.arm: launch.failure is not None for launch in launches}
    assert failed["onnxruntime"]
    assert not failed["onnxruntime+graph=off"]
    assert none_left(engine, command.pid)

"""Backends and a model of installed distributions, measured beside built-in ones, with real containers."""

import re
from pathlib import Path

import docker
import pytest

from levelfield.launchers.docker import DockerLauncher
from levelfield.plan import Selection
from levelfield.run.contract import check
from levelfield.schedule.listener import SilentListener
from tests import plugged
from tests.benches import once, parity_of

pytestmark = pytest.mark.docker

IN_THIS_TREE = {"litert": plugged.LITERT, "tvm": plugged.TVM, "mxnet": plugged.MXNET}


@pytest.mark.parametrize(
    "others", [("litert",), pytest.param(("litert", "tvm", "mxnet"), marks=pytest.mark.extended)], ids="+".join
)
def test_they_are_measured_beside_built_in_ones(
    engine: docker.DockerClient, tmp_path: Path, others: tuple[str, ...]
) -> None:
    tmp_path.chmod(0o755)
    projects = (plugged.TEMPLATE, *(IN_THIS_TREE[each] for each in others))
    folders = [plugged.install(each, tmp_path / each.name) for each in projects]
    equal = ("example", *(each for each in others if each != "mxnet"), "onnxruntime")
    selection = Selection(
        profile="smoke",
        models=("linear",),
        backends=("example", *others, "onnxruntime"),
        scenarios=("latency",),
        threads=(1,),
        control="none",
    )
    with plugged.seen(*folders):
        found = once(selection, tmp_path / "reports", "docker")
    assert found.code == 0, found.out
    (block,) = found.run.blocks
    launches = {each.arm: each for generation in block.generations for each in generation.launches}
    assert launches.keys() > set(equal)
    for arm in equal:
        parity_of(launches[arm])
    if "mxnet" in others:
        absent = launches["mxnet"].failure
        assert absent is not None
        assert (absent.kind, "no definition of linear" in absent.message) == ("unsupported", True)
    brought = {image.name: image.plugins for image in found.run.images}
    model = {"levelfield-example": "0.1.0"}
    assert brought["onnxruntime"] == brought["example"] == model
    assert brought["litert"] == model | {"levelfield-litert": "0.1.0"}
    assert "linear fp32 batch 1 tflite" in {artifact.name for artifact in found.run.artifacts}
    assert launches["litert"].onnx_sha256 != launches["onnxruntime"].onnx_sha256 != ""
    if "tvm" in others:
        assert launches["tvm"].onnx_sha256 == launches["onnxruntime"].onnx_sha256
    page = found.page.read_text(encoding="utf-8")
    assert "LiteRT" in page
    assert re.search(r"from plug-ins</dt>.*levelfield-litert 0\.1\.0", page)
    assert "Linear" in page


def test_an_archived_framework_keeps_the_contract_with_the_numpy_that_it_needs(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    with plugged.seen(plugged.install(plugged.MXNET, tmp_path)):
        found = list(check("mxnet", "mlp", DockerLauncher(engine), SilentListener()))
    assert not [each for each in found if each.state != "passed"]
    assert {"fp32: it answers as the reference does", "fp32: it keeps to 1 thread"} <= {each.name for each in found}
    (settings,) = [each.detail for each in found if each.name == "fp32: it says what it was set to"]
    assert "threads: 1, OpenMP: libgomp (GNU), oneDNN: on" in settings


@pytest.mark.parametrize(
    "model", ["mlp", *(pytest.param(name, marks=pytest.mark.extended) for name in ("resnet50", "mobilenet", "bert"))]
)
def test_ncnn_answers_as_the_reference_does(engine: docker.DockerClient, tmp_path: Path, model: str) -> None:
    tmp_path.chmod(0o755)
    selection = Selection(
        profile="smoke", models=(model,), backends=("ncnn", "onnxruntime"), scenarios=("latency",), control="none"
    )
    with plugged.seen(plugged.install(plugged.NCNN, tmp_path / "ncnn")):
        assert not [
            each for each in check("ncnn", "mlp", DockerLauncher(engine), SilentListener()) if each.state != "passed"
        ]
        found = once(selection, tmp_path / "reports", "docker")
    assert found.code == 0, found.out
    (block,) = found.run.blocks
    for launch in (each for generation in block.generations for each in generation.launches):
        parity_of(launch)

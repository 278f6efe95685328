"""Lower precisions and several numbers of threads through the whole command, with real containers."""

from pathlib import Path

import docker
import pytest

from levelfield.analysis import processor
from levelfield.record.schema import Absent
from tests.benches import bench, parity_of

pytestmark = pytest.mark.docker

LATENCY = ("--scenarios", "latency", "--control", "none")


def test_two_precisions_and_two_numbers_of_threads(engine: docker.DockerClient, tmp_path: Path) -> None:
    words = ("--backends", "torch,openvino", "--precision", "fp32,bf16", "--threads", "1,2")
    found = bench(tmp_path, *LATENCY, *words)
    one = found.run
    assert one.finished
    assert one.settings.thread_counts == (1, 2)
    assert [block.case.id for block in one.blocks] == [
        f"mlp/latency/{precision}/b1/t{threads}/cpu" for precision in ("fp32", "bf16") for threads in (1, 2)
    ]
    for block in one.blocks:
        for number, launch in (
            (number, launch) for number, generation in enumerate(block.generations) for launch in generation.launches
        ):
            if launch.arm == block.canary:
                continue
            if (
                launch.arm == "openvino"
                and block.case.precision == "bf16"
                and processor.missing_instructions(one.machine, "bf16")
            ):
                assert launch.failure is not None  # torch emulates it, OpenVINO does not
                assert launch.failure.kind == "unsupported"
                continue
            compared = parity_of(launch)
            assert compared.computed_in == block.case.precision
            assert launch.environment["OMP_NUM_THREADS"] == str(block.case.threads)
            assert launch.environment["LEVELFIELD_CPUS"].count(",") == block.case.threads - 1
            assert (launch.computed is not None) == (number == 0), "it is asked once"
            if block.case.precision == "bf16":
                assert compared.inputs == 64
    page = found.page.read_text(encoding="utf-8")
    for text in ("Speed and accuracy", "Scaling with threads"):
        assert text in page
        assert text in found.out


def test_eight_bits_from_one_file_for_both_who_read_it(engine: docker.DockerClient, tmp_path: Path) -> None:
    found = bench(tmp_path, *LATENCY, "--backends", "jax,onnxruntime,openvino", "--precision", "int8")
    one = found.run
    assert {image.name for image in one.images} == {"onnxruntime", "openvino", "canary"}, "JAX's was not needed"
    (block,) = one.blocks
    digests = set()
    for number, generation in enumerate(block.generations):
        for launch in generation.launches:
            if launch.arm in {"onnxruntime", "openvino"}:
                digests.add(launch.onnx_sha256)
                compared = parity_of(launch)
                assert (launch.computed is not None) == (number == 0), "it is asked once"
                if launch.computed is not None:  # with one thread OpenVINO fuses them all, and does not name them
                    assert launch.computed.products.get("int8", 0) >= 6 or "hides them" in launch.computed.source
                    assert launch.arm == "openvino" or launch.computed.products == {"int8": 6}
                assert not isinstance(compared.cosine, Absent)
                assert compared.cosine > 0.98
    (digest,) = digests
    (artifact,) = [each for each in one.artifacts if each.name == "mlp int8 batch 1 onnx"]
    assert artifact.sha256 == digest
    assert artifact.made_by["onnxruntime"]
    absent = [launch.failure for launch in block.generations[0].launches if launch.arm == "jax"]
    assert absent[0] is not None
    assert absent[0].kind == "unsupported"
    assert "JAX has no static quantisation" in found.page.read_text(encoding="utf-8")

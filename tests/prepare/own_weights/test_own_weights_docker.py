"""Weights of a user's own from the command to the report, in real containers."""

from pathlib import Path

import docker
import pytest

from levelfield.images.build import build
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from tests.benches import parity_of
from tests.commands import one_clear_sentence, run
from tests.engines import none_left
from tests.prepare.own_weights import saved
from tests.records_builder import launches_of

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("cache")]

BACKENDS = ("torch", "tensorflow", "jax", "onnxruntime", "openvino")


def test_weights_of_ones_own(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    network = saved.bert(tmp_path / "private-name", shards=2)
    command = run(
        "bench", "--profile", "smoke", "--models", "bert", "--model", network, "--control", "none", "--threads", "1",
        "--backends", ",".join(BACKENDS), "--budget", "5s", "--reports", tmp_path / "reports", folder=tmp_path, code=0,
    )  # fmt: skip
    (folder,) = (file.parent for file in (tmp_path / "reports").glob("*/report.html"))
    one = files.read(folder)
    (own,) = one.settings.own_weights
    assert one.settings.models == (own.model,)
    assert [block.case.id for block in one.blocks] == [f"{own.model}/latency/fp32/b1/t1/cpu"]
    launches = list(launches_of(*one.blocks))
    assert {each.arm for each in launches} == {*BACKENDS, "canary"}
    for launch in launches:
        parity_of(launch)
    digests = {each.weights_sha256 for each in launches if each.arm not in {"canary", "onnxruntime", "openvino"}}
    assert digests == {each.sha256 for each in one.artifacts if each.name == f"{own.model} weights"}
    assert own.sha256 in {each.sha256 for each in one.artifacts}
    assert {work.model for work in one.work} >= {own.model}
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert own.sha256 in page
    assert f"BERT {own.model[5:13]}" in page
    for private in ("private-name", str(tmp_path)):
        assert private not in page + files.content_of(folder).decode()
    assert run("verify", folder / REPORT, folder=tmp_path).code == 0
    again = run("reproduce", folder / REPORT, "--dry-run", "--model", network, folder=tmp_path)
    assert f"on {own.model}" in again.out, again.err
    other = saved.bert(tmp_path / "other", initializer_range=0.5)
    refused = run("reproduce", folder / REPORT, "--dry-run", "--model", other, folder=tmp_path)
    one_clear_sentence(refused, "other is not the folder that was measured")
    assert none_left(engine, command.pid)


SAVED = {
    "resnet50": "ResNetForImageClassification(ResNetConfig(embedding_size=16, hidden_sizes=[32, 64], depths=[2, 1]))",
    "mobilenet": "MobileNetV2ForImageClassification(MobileNetV2Config(depth_multiplier=0.35, image_size=96))",
    "vit": "ViTForImageClassification(ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2,"
    " intermediate_size=96, image_size=48, patch_size=8))",
    "decoder": "LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2,"
    " num_attention_heads=4, num_key_value_heads=2, vocab_size=130, max_position_embeddings=160,"
    " tie_word_embeddings=True))",
}
"""A small network of each further family, as the transformers library makes it."""


@pytest.mark.extended
@pytest.mark.parametrize("family", SAVED)
def test_a_folder_that_the_library_saved_is_equal_in_every_framework(
    engine: docker.DockerClient, tmp_path: Path, family: str
) -> None:
    """The container of `transformers` makes the network and writes the folder."""
    tmp_path.chmod(0o755)
    network = tmp_path / "network"
    engine.containers.run(
        build("transformers").tag,
        ["-c", f"from transformers import *; set_seed(1); {SAVED[family]}.save_pretrained('/out/network')"],
        entrypoint="/opt/levelfield/env/bin/python",
        environment={"HOME": "/tmp", "HF_HUB_OFFLINE": "1"},
        network_mode="none",
        user="0:0",
        tmpfs={"/tmp": "rw,exec"},
        volumes={str(tmp_path): {"bind": "/out", "mode": "rw"}},
        remove=True,
    )
    assert {"config.json", "model.safetensors"} <= {each.name for each in network.iterdir()}
    backends = (*BACKENDS, "torch-compile", "tensorflow-xla")
    command = run(
        "bench", "--profile", "smoke", "--models", family, "--model", network, "--control", "none", "--threads", "1",
        "--backends", ",".join(backends), "--scenarios", "latency", "--budget", "5s",
        "--reports", tmp_path / "reports", folder=tmp_path, code=0,
    )  # fmt: skip
    (folder,) = (file.parent for file in (tmp_path / "reports").glob("*/report.html"))
    launches = list(launches_of(*files.read(folder).blocks))
    assert {each.arm for each in launches} == {*backends, "canary"}
    for launch in launches:
        parity_of(launch)
    assert none_left(engine, command.pid)

"""Weights of a user's own from the command to the report, in real containers."""

from pathlib import Path

import docker
import pytest

from suite.record import files
from suite.run.results import REPORT
from tests.commands import one_clear_sentence, run
from tests.engines import none_left
from tests.prepare.own_weights import saved

pytestmark = [pytest.mark.docker, pytest.mark.slow]

BACKENDS = ("torch", "tensorflow", "jax", "onnxruntime", "openvino", "transformers")


def test_weights_of_ones_own(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    network = saved.bert(tmp_path / "private-name", shards=2)
    command = run(
        "bench", "--profile", "smoke", "--models", "bert", "--weights", network, "--control", "none", "--threads", "1",
        "--backends", ",".join(BACKENDS), "--budget", "5s", "--reports", tmp_path / "reports", folder=tmp_path,
    )  # fmt: skip
    assert command.code == 0, command.err + command.out
    (folder,) = (file.parent for file in (tmp_path / "reports").glob(f"*/{files.NAME}"))
    one = files.read(folder)
    (own,) = one.settings.own_weights
    assert one.settings.models == (own.model,)
    assert [block.case.id for block in one.blocks] == [f"{own.model}/latency/fp32/b1/t1/cpu"]
    launches = [each for block in one.blocks for generation in block.generations for each in generation.launches]
    assert {each.arm for each in launches} == {*BACKENDS, "canary"}
    for launch in launches:
        assert launch.failure is None, launch.failure
        assert launch.parity is not None
        assert launch.parity.equal, launch.parity.reason
    digests = {each.weights_sha256 for each in launches if each.arm not in {"canary", "onnxruntime", "openvino"}}
    assert digests == {each.sha256 for each in one.artifacts if each.name == f"{own.model} weights"}
    assert own.sha256 in {each.sha256 for each in one.artifacts}
    assert {work.model for work in one.work} >= {own.model}
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert own.sha256 in page
    assert f"BERT {own.model[5:13]}" in page
    for private in ("private-name", str(tmp_path)):
        assert private not in page + (folder / files.NAME).read_text(encoding="utf-8")
    assert run("verify", folder / REPORT, folder=tmp_path).code == 0
    again = run("reproduce", folder / REPORT, "--dry-run", "--weights", network, folder=tmp_path)
    assert f"on {own.model}" in again.out, again.err
    other = saved.bert(tmp_path / "other", initializer_range=0.5)
    refused = run("reproduce", folder / REPORT, "--dry-run", "--weights", other, folder=tmp_path)
    one_clear_sentence(refused, "other is not the folder that was measured")
    assert none_left(engine, command.pid)

"""A bench with real containers that somebody interrupts."""

import signal
from pathlib import Path

import docker
import pytest

from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from tests.benches import until_a_round
from tests.commands import Command, one_clear_sentence
from tests.engines import none_left

pytestmark = pytest.mark.docker

JAX = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "jax", "--reports")
"""A run of about ten seconds: two containers of JAX, one of the canary."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_it_has(
    engine: docker.DockerClient, tmp_path: Path, number: signal.Signals
) -> None:
    tmp_path.chmod(0o755)
    reports, temporary = tmp_path / "reports", tmp_path / "temporary"
    temporary.mkdir()
    command = Command(*JAX, reports, folder=tmp_path, environment={"TMPDIR": str(temporary)})
    until_a_round(command, reports)
    command.send(number)
    kept, go_on = "Interrupted; everything measured so far is kept.", "Go on with levelfield bench --resume"
    one_clear_sentence(command.wait(), kept, go_on, f"--reports {reports}.")
    (page,) = reports.glob(f"*/{REPORT}")
    one = files.read(page.parent)
    assert one.finished is None
    assert one.blocks[0].generations[0].rounds
    assert none_left(engine, command.pid)
    assert not list(temporary.iterdir())

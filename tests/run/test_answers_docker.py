"""The models that no default run measures, in every framework's container: one launch each, and no rounds."""

import shutil

import docker
import pytest

from suite import plan
from suite.launchers.docker import DockerLauncher
from suite.schedule.launches import bring_up
from suite.schedule.listener import SilentListener
from suite.schedule.outcomes import end_workers
from suite.schedule.preparation import prepare
from tests.engines import none_left

WRITTEN = ("torch", "tensorflow", "jax", "onnxruntime", "openvino")
"""One backend for each network that is written; the compiling ones compile the same networks for minutes."""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(set(plan.names_of_models()) - set(plan.default_models())))
def test_every_framework_gives_the_answer_of_the_reference(engine: docker.DockerClient, model: str) -> None:
    chosen = plan.make(
        plan.Selection(profile="smoke", models=(model,), backends=WRITTEN, scenarios=("latency",), control="none")
    )
    (block,) = chosen.blocks
    assert {arm.id for arm in block.arms} == set(WRITTEN)
    site = prepare(chosen, DockerLauncher(engine), SilentListener())
    try:
        outcomes = bring_up(site, block.case, block.arms, verify=True, launch_measured=False)
        end_workers(outcomes)
    finally:
        shutil.rmtree(site.caches, ignore_errors=True)
    for outcome in outcomes:
        assert outcome.launch.parity is not None, outcome.launch.failure
        assert outcome.launch.parity.equal, outcome.launch.parity.reason
    assert none_left(engine)

"""What no default run measures, in every framework's container: one launch each, and no rounds."""

import shutil

import docker
import msgspec
import pytest

from suite import plan
from suite.backends import registry
from suite.launchers.docker import DockerLauncher
from suite.schedule.launches import bring_up
from suite.schedule.listener import SilentListener
from suite.schedule.outcomes import Outcome, end_workers
from suite.schedule.preparation import prepare
from suite.zoo import models
from tests.engines import none_left

WRITTEN = ("torch", "tensorflow", "jax", "onnxruntime", "openvino")
"""One backend for each network that is written; the compiling ones compile the same networks for minutes."""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(set(plan.names_of_models()) - set(plan.default_models())))
def test_every_framework_gives_the_answer_of_the_reference(engine: docker.DockerClient, model: str) -> None:
    selection = plan.Selection(models=(model,), backends=WRITTEN, scenarios=("latency",))
    outcomes = _verified(engine, selection)
    assert {outcome.arm.id for outcome in outcomes} == set(WRITTEN)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("model", plan.default_models())
def test_keras_gives_the_answer_of_the_reference(engine: docker.DockerClient, model: str) -> None:
    """On one of its engines: the definitions are the same on all three."""
    (outcome,) = _verified(engine, plan.Selection(models=(model,), backends=("keras-jax",), scenarios=("latency",)))
    assert outcome.launch.settings["engine"].startswith("jax ")
    assert outcome.launch.settings["mode"] == "predict_on_batch"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gemm", "conv", "attention", "softmax", "layernorm", "embedding"])
def test_every_framework_computes_each_kind_of_operator(engine: docker.DockerClient, kind: str) -> None:
    name = next(each for each in models.operators() if each.startswith(kind))
    _verified(engine, plan.Selection(models=(name,), backends=WRITTEN, scenarios=("operators",)))


@pytest.mark.docker
@pytest.mark.slow
def test_every_backend_answers_token_by_token(engine: docker.DockerClient) -> None:
    """128 tokens of two sequences, one after the other: each token's logits are those of all tokens at once."""
    selection = plan.Selection(scenarios=("generate",), depths=(5,), batches=(2,))
    outcomes = _verified(engine, selection)
    assert {outcome.arm.id for outcome in outcomes} == set(plan.names_of_backends())
    for outcome in outcomes:
        assert outcome.launch.parity is not None
        assert isinstance(outcome.launch.parity.relative_error, float)
        assert outcome.launch.parity.relative_error < 3e-6


@pytest.mark.docker
@pytest.mark.slow
def test_caches_that_grow_give_the_same_answers(engine: docker.DockerClient) -> None:
    """Where they are there: backends that compile for fixed shapes say why theirs are not."""
    keeping = {name for name in plan.names_of_backends() if not registry.get(name).why_static}
    backends = tuple(sorted(keeping - {"torch-compile"}))  # compiled for a minute, and of torch's own definition
    selection = plan.Selection(
        scenarios=("generate",), depths=(5,), batches=(2,), kv_caches=("growing",), backends=backends
    )
    outcomes = _verified(engine, selection)
    assert {outcome.arm.id for outcome in outcomes} == {"torch", "onnxruntime", "openvino"}
    for outcome in outcomes:
        assert outcome.launch.parity is not None
        assert isinstance(outcome.launch.parity.relative_error, float)
        assert outcome.launch.parity.relative_error < 3e-6


def _verified(engine: docker.DockerClient, selection: plan.Selection) -> list[Outcome]:
    """Launch every arm of the one block, compare its answers with the reference, and end it."""
    chosen = plan.make(msgspec.structs.replace(selection, profile="smoke", control="none"))
    (block,) = chosen.blocks
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
    return outcomes

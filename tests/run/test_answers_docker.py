"""What no default run measures, in every framework's container: one launch each, and no rounds."""

import docker
import msgspec
import pytest

from levelfield import plan
from levelfield.launchers.docker import DockerLauncher
from levelfield.record.schema import KVCache
from levelfield.schedule.launches import bring_up
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.zoo import models
from tests.benches import parity_of, verified
from tests.engines import none_left

WRITTEN = ("torch", "tensorflow", "jax", "onnxruntime", "openvino")
"""One backend for each network that is written; the compiling ones compile the same networks for minutes."""
RESIDENT = ("torch", "tensorflow", "jax", "onnxruntime")
"""Those of them that can leave inputs and outputs where they keep their own arrays."""
FEW = ("jax", "onnxruntime")
"""A network written in a framework, and one that was exported."""
ALL = pytest.mark.extended
"""Marks what every backend answers: minutes."""
STRIDED = "conv-256x56x56-128x1x1-s2"
"""A convolution beside the first of its kind, which is of 7 × 7 filters."""


@pytest.mark.docker
@pytest.mark.parametrize("model", sorted(set(plan.names_of_models()) - set(plan.default_models())))
@pytest.mark.parametrize("backends", [FEW, pytest.param(WRITTEN, marks=ALL)], ids="+".join)
def test_every_framework_gives_the_answer_of_the_reference(
    engine: docker.DockerClient, model: str, backends: tuple[str, ...]
) -> None:
    selection = plan.Selection(models=(model,), backends=backends, scenarios=("latency",))
    assert {outcome.arm.id for outcome in verified(engine, selection)} == set(backends)


@pytest.mark.docker
@pytest.mark.parametrize("model", plan.default_models())
def test_keras_gives_the_answer_of_the_reference(engine: docker.DockerClient, model: str) -> None:
    """On one of its engines: the definitions are the same on all three."""
    (outcome,) = verified(engine, plan.Selection(models=(model,), backends=("keras-jax",), scenarios=("latency",)))
    assert outcome.launch.settings["engine"].startswith("jax ")
    assert outcome.launch.settings["mode"] == "predict_on_batch"


@pytest.mark.docker
@pytest.mark.parametrize("backends", [FEW, pytest.param(WRITTEN, marks=ALL)], ids="+".join)
def test_every_framework_computes_each_kind_of_operator(engine: docker.DockerClient, backends: tuple[str, ...]) -> None:
    """From NumPy's arrays, and from arrays that stay where the framework keeps them: one launch answers all in turn."""
    kinds = {name.partition("-")[0]: name for name in reversed(models.operators())}
    assert len(kinds) == 8
    names = (*kinds.values(), STRIDED)
    chosen = plan.make(
        plan.Selection(models=names, backends=backends, scenarios=("operators",), profile="smoke", control="none")
    )
    assert {block.case.model for block in chosen.blocks} == set(names)
    site = prepare(chosen, DockerLauncher(engine), SilentListener())
    running: dict[str, Outcome] = {}
    try:
        for block in chosen.blocks:
            assert {arm.id for arm in block.arms} == set(backends)
            staying = msgspec.structs.replace(block.case, scenario="latency-device")
            held = [arm for arm in block.arms if arm.id in RESIDENT]
            for case, arms in ((block.case, block.arms), (staying, held)):
                outcomes = bring_up(site, case, arms, verify=True, launch_measured=False, running=running)
                running |= {outcome.arm.id: outcome for outcome in outcomes}
                for outcome in outcomes:
                    parity_of(outcome.launch)
    finally:
        end_workers(list(running.values()))
        remove_caches(site.caches)
    assert {arm: len(outcome.launch.served) for arm, outcome in running.items()} == {
        arm: (2 if arm in RESIDENT else 1) * len(names) - 1 for arm in backends
    }
    assert none_left(engine)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("cache", "backends"),
    [
        ("static", FEW),
        pytest.param("static", plan.names_of_backends(), marks=ALL),
        ("growing", ("openvino",)),
        pytest.param("growing", ("onnxruntime", "openvino", "torch"), marks=ALL),
    ],
)
def test_every_backend_answers_token_by_token(
    engine: docker.DockerClient, cache: KVCache, backends: tuple[str, ...]
) -> None:
    """128 tokens of two sequences, one after the other: each token's logits are those of all tokens at once."""
    selection = plan.Selection(
        scenarios=("generate",), depths=(5,), batches=(2,), kv_caches=(cache,), backends=backends
    )
    outcomes = verified(engine, selection)
    assert {outcome.arm.id for outcome in outcomes} == set(backends)
    for outcome in outcomes:
        error = parity_of(outcome.launch).relative_error
        assert isinstance(error, float)
        assert error < 3e-6

"""Bringing workers up: who cannot answer is absent with the reason, and never launched."""

from levelfield.record.schema import Arm, Case
from levelfield.schedule.launches import bring_up
from tests import canaries


def test_who_does_not_compute_in_a_precision_is_not_launched() -> None:
    site = canaries.site(canaries.plan("latency"))
    outcomes = bring_up(site, Case("mlp", "latency", "int8", 1, 1), [Arm("jax", "jax"), Arm("torch", "torch")])
    assert not canaries.workers()
    for outcome, words in zip(outcomes, ("JAX has no static quantisation", "torchao"), strict=True):
        assert outcome.worker is None
        assert outcome.launch.failure is not None
        assert outcome.launch.failure.kind == "unsupported"
        assert words in outcome.launch.failure.message


def test_who_has_no_definition_of_the_model_is_not_launched() -> None:
    site = canaries.site(canaries.plan("latency"))
    (outcome,) = bring_up(site, Case("vit", "latency", "fp32", 1, 1), [Arm("keras-torch", "keras-torch")])
    assert not canaries.workers()
    assert outcome.launch.failure is not None
    assert outcome.launch.failure.kind == "unsupported"
    assert "keras-torch has no definition of vit here" in outcome.launch.failure.message

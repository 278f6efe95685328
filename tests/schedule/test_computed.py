"""An arm is asked once in what it computes, where the answer cannot change."""

import msgspec

from levelfield.record.schema import Arm, Case, Computed
from levelfield.schedule.computed import known_computed, recorded, remember_computed
from levelfield.zoo import honesty
from tests.canaries import plan, site


def test_an_arm_is_asked_once_in_what_it_computes() -> None:
    resources = site(plan("memory"))
    arm, other = Arm("torch", "torch"), Arm("jax", "jax")
    latency, memory = (Case("mlp", scenario, "fp32", 1, 2) for scenario in ("latency", "memory"))
    batches = Case("mlp", "throughput", "fp32", 1000, 2)
    found = Computed({"fp32": 6}, "what it prints")
    assert known_computed(resources, latency, arm) is None
    remember_computed(resources, latency, arm, None)
    assert known_computed(resources, latency, arm) is None, "it did not say"
    remember_computed(resources, latency, arm, found)
    assert known_computed(resources, latency, arm) == found
    assert known_computed(resources, memory, arm) == found, "of no timed case, where any launch was asked"
    assert known_computed(resources, batches, arm) is None, "another batch may have other kernels"
    assert known_computed(resources, latency, other) is None
    low = msgspec.structs.replace(memory, precision="bf16")
    assert known_computed(resources, low, arm) is None


def test_on_a_gpu_every_launch_is_asked_of_what_may_choose_other_kernels() -> None:
    resources = site(plan("memory"))
    case, found = Case("mlp", "latency", "fp32", 1, 2, device="cuda"), Computed({"fp32": 6}, "what it prints")
    for arm in (Arm("jax", "jax"), Arm("torch", "torch"), Arm("torch-compile", "torch-compile")):
        remember_computed(resources, case, arm, found)
        expected = None if arm.backend == "jax" else found
        assert known_computed(resources, case, arm) == expected


def test_what_a_worker_says_is_recorded_whole() -> None:
    assert recorded(None) is None
    assert recorded(honesty.Computed({"bf16": 3, "fp32": 1}, "its profiler")) == Computed(
        {"bf16": 3, "fp32": 1}, "its profiler"
    )

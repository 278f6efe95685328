"""The command that measures the same plan again."""

import shlex
from typing import Literal

import msgspec
import pytest

from levelfield.analysis import money
from levelfield.cli.measure import bench
from levelfield.options.registry import rerun
from levelfield.record.schema import Price
from tests.records_builder import make_run


def test_the_command_to_run_it_again_is_one_that_the_tool_takes() -> None:
    words = shlex.split(rerun(make_run(control="jax", precision_target=0.005)))
    assert words[:2] == ["levelfield", "bench"]
    parsed = bench.make_context("bench", words[2:]).params
    assert (parsed["profile"], parsed["models"]) == ("standard", ("mlp", "resnet50", "bert"))
    assert parsed["scenarios"] == ("latency", "throughput", "cold-start", "memory")
    assert (parsed["threads"], parsed["control"], parsed["budget_seconds"]) == ((2,), "jax", 600)
    assert parsed["precision_target"] == pytest.approx(0.005)
    assert parsed["margin"] == pytest.approx(0.02)
    assert (parsed["seed"], parsed["launcher"]) == (1, "docker")
    assert parsed["variant"] == "cpu", "a machine with a GPU would take it otherwise"
    assert parsed["gpu"] is None


def test_a_run_on_a_gpu_asks_for_that_gpu_again() -> None:
    run = make_run()
    settings = msgspec.structs.replace(run.settings, gpu=1, backends=("torch@cu13", "jax@cuda"), launcher="host")
    words = shlex.split(rerun(msgspec.structs.replace(run, settings=settings)))
    parsed = bench.make_context("bench", words[2:]).params
    assert (parsed["gpu"], parsed["variant"]) == ("1", "auto")
    assert parsed["backends"] == ("torch@cu13", "jax"), "cuda stands for what the host had"


@pytest.mark.parametrize("price", [Price(1.2, "EUR"), Price(0.000000001, "$"), Price(9_999_999.5), None])
def test_a_price_is_asked_for_again(price: Price | None) -> None:
    run = make_run() if price is None else money.at(make_run(), price)
    words = shlex.split(rerun(run))
    parsed = bench.make_context("bench", words[2:]).params
    assert parsed["price"] == price


@pytest.mark.parametrize(("requested", "typed"), [("all", "all"), ((0, 2), (0, 2)), ((), ()), (None, ())])
def test_cpus_that_were_asked_for_are_asked_for_again(
    requested: tuple[int, ...] | Literal["all"] | None, typed: object
) -> None:
    run = make_run()
    settings = msgspec.structs.replace(run.settings, cpus_requested=requested)
    words = shlex.split(rerun(msgspec.structs.replace(run, settings=settings)))
    assert bench.make_context("bench", words[2:]).params["cpus"] == typed

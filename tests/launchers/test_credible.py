"""Replies that cannot be true: each is named, and costs the worker that sent it; honest ones pass."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.launchers import credible
from levelfield.record import bounds, files, page, schema
from levelfield.record.measured import Evaluation, Library, Memory, RooflineSamples, Startup, Window
from levelfield.worker.messages import (
    Converged,
    Driven,
    Failed,
    Loaded,
    Measured,
    Probed,
    Profiled,
    Ready,
    Reply,
    RooflineMeasured,
    Rotated,
    Used,
    Verified,
)
from tests.records_builder import make_run

_R = TypeVar("_R", bound=Reply)
SECOND_NS = 1_000_000_000
EMPTY = msgspec.structs.replace(make_run(models=("mlp",), backends=("jax",), generations=1, rounds=1), blocks=())
WINDOW = Window((10,), (100, 200), 350, 300, 20, 0, 1, 2, 0)
LOADED = Loaded(Startup(0, 1, 2, 3), "1.0", "", "", {"threads": "1"})
TRAINED = Converged((Evaluation(10, 100, 2.0, 0.5), Evaluation(20, 200, 1.0, 0.9)), (2.0,), "", "")
DRIVEN = Driven({"rules": {"min_duration_ms": 6e5}, "summary": "summary", "not_served": 0}, 400)
ROOFLINE = RooflineSamples(1, 64, (1, 2), 1024, (3,), (4,), "1")
HONEST: tuple[Reply, ...] = (
    Measured(WINDOW), LOADED, TRAINED, RooflineMeasured(ROOFLINE), DRIVEN,
    msgspec.structs.replace(LOADED, startup=Startup(0, 1, 2, 3, 5)),
    Verified((2,), b"\x00" * 8), Verified((2,), b"", calls=WINDOW), Rotated(3, "0" * 64), Used(1, 2, 3, 4, 5, 6),
    Profiled("a", (), (1,), (2,), ""), Failed("error", "It failed.", "Traceback"), Ready(1, 7, "3.11"),
    msgspec.structs.replace(TRAINED, points=(), diverged="it diverged"),
)  # fmt: skip


@pytest.mark.parametrize("reply", HONEST, ids=lambda reply: type(reply).__name__)
def test_an_honest_reply_passes(reply: Reply) -> None:
    assert credible.implausibility(reply, SECOND_NS) == ""


def changed(reply: _R, **fields: Any) -> _R:
    return msgspec.structs.replace(reply, **fields)


def window_with(**fields: Any) -> Measured:
    return Measured(msgspec.structs.replace(WINDOW, **fields))


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (window_with(samples_ns=()), "a window without a call"),
        (window_with(samples_ns=(100, 0)), "a call that took no time"),
        (window_with(samples_ns=(10**30,), window_ns=10**30), "a number that nothing counts"),
        (window_with(window_ns=299), "shorter than its calls"),
        (window_with(window_ns=9 * SECOND_NS), "longer than the time since it was asked"),
        (window_with(rewarm_ns=(9 * SECOND_NS,)), "longer than the time since it was asked"),
        (changed(LOADED, startup=Startup(0, 1, 2, 9 * SECOND_NS)), "a load that took longer"),
        (changed(LOADED, version="x" * (credible.MAX_TEXT + 1)), "a text without end"),
        (changed(TRAINED, losses=(float("inf"),)), "a number that is not finite"),
        (changed(TRAINED, points=(Evaluation(1, 1, 1.0, 1.5),)), "no share"),
        (changed(TRAINED, points=TRAINED.points[::-1]), "back in time"),
        (changed(TRAINED, points=(Evaluation(1, 9 * SECOND_NS, 1.0, 0.5),)), "a training that took longer"),
        (changed(DRIVEN, elapsed_ns=9 * SECOND_NS), "a test that took longer"),
        (changed(DRIVEN, answer={"rules": {"min_duration_ms": float("inf")}}), "a number that is not finite"),
        (RooflineMeasured(msgspec.structs.replace(ROOFLINE, copy_ns=())), "without a call"),
        (Profiled("a", (), (), (), ""), "a profile without a call"),
        (Failed("interrupted by me", "x"), "a kind of failure that there is not"),
        (Ready(1, -1, "3"), "a number that nothing counts"),
        (window_with(samples_ns=(1,) * 1_000_001, window_ns=2_000_000), "more calls than are asked for"),
        (changed(LOADED, settings={str(each): "" for each in range(10_000)}), "more facts than a launch has"),
    ],
)
def test_what_cannot_be_true_is_named(reply: Reply, says: str) -> None:
    assert says in credible.implausibility(reply, SECOND_NS)


def window(calls: int, before: int) -> Measured:
    return window_with(samples_ns=(1,) * calls, rewarm_ns=(1,) * before, window_ns=calls)


def probed(libraries: int, variables: int) -> Probed:
    environment = {f"E{each}": "x" for each in range(variables)}
    return Probed(Memory(1, 1, "VmHWM"), (Library("lib", "/lib", "MKL"),) * libraries, {}, environment, (0,), "3.11", 1)


COUNTS = st.integers(0, 400)
REPORTS = st.one_of(
    st.builds(window, st.integers(1, 400), COUNTS),
    st.builds(probed, COUNTS, COUNTS),
    st.builds(lambda count: changed(LOADED, settings={f"s{each}": "1" for each in range(count)}), COUNTS),
    st.builds(lambda text: Failed("error", text, text), st.text(max_size=3000)),
)
"""Honest ones and lies, for bounds that are a thousandth of the real ones and less."""


def launch(arm: str, replies: Sequence[Reply]) -> schema.Launch:
    """What a record keeps of replies."""
    made = schema.Launch(arm=arm, started="")
    for reply in replies:
        match reply:
            case Measured():
                made = msgspec.structs.replace(made, warmup=(*made.warmup, reply.window))
            case Probed():
                made = msgspec.structs.replace(made, libraries=reply.libraries, environment=reply.environment)
            case Loaded():
                made = msgspec.structs.replace(made, settings=reply.settings)
            case Failed():
                failure = schema.Failure("measure", "error", reply.message, reply.detail)
                made = msgspec.structs.replace(made, failure=failure)
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(REPORTS, max_size=5)), max_size=20))
def test_whatever_is_accepted_is_read_again(
    monkeypatch: pytest.MonkeyPatch, launches: list[tuple[str, list[Reply]]]
) -> None:
    for module, name, most in (
        (files, "MAX_BYTES", 60_000),
        (files, "MAX_VALUES", 10_000),
        (bounds, "MAX_FACTS", 2_000),
        (bounds, "MAX_LAUNCH_FACTS", 500),
        (bounds, "MAX_WINDOW_CALLS", 300),
        (bounds, "REPORTED", {"bytes": 24_000, "values": 4_000, "facts": 800}),
    ):
        monkeypatch.setattr(module, name, most)
    amounts = credible.Amounts(2)
    generations = []
    for index, (arm, replies) in enumerate(launches):
        accepted = [
            reply
            for reply in replies
            if not credible.implausibility(reply, SECOND_NS) and not amounts.excess(arm, reply)
        ]
        generations.append(schema.Generation(index, 1, launches=(launch(arm, accepted),)))
    block = schema.Block(
        schema.Case("mlp", "latency", "fp32", 1, 1), (schema.Arm("a", "a"), schema.Arm("b", "b")), 5, tuple(generations)
    )
    content = msgspec.json.encode(msgspec.structs.replace(EMPTY, blocks=(block,)))
    assert len(content) <= page.MAX_BYTES
    bounds.check(files.decode(content, "run.json"), "run.json")

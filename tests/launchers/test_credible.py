"""Replies that cannot be true: each is named, and costs the worker that sent it; honest ones pass."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from levelfield.backends.profiling.operators import Operator
from levelfield.launchers import credible
from levelfield.prepare.own_model import reference
from levelfield.record import bounds, files, page, schema
from levelfield.record.measured import (
    Absent,
    Computed,
    Evaluation,
    Library,
    MachineProbe,
    Memory,
    RooflineSamples,
    Startup,
    Window,
)
from levelfield.worker.messages import (
    Converged,
    Driven,
    Exported,
    Failed,
    Joined,
    Loaded,
    Measured,
    Output,
    PluginCalled,
    Polled,
    Predicted,
    Probed,
    Profiled,
    Ready,
    Reply,
    RooflineMeasured,
    Rotated,
    Sensed,
    Trained,
    Updated,
    Used,
    Verified,
)
from levelfield.zoo.spec import OwnInput, Sensitivity
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
    msgspec.structs.replace(TRAINED, points=(), diverged="it diverged"), MachineProbe(900_000, 400_000, 500_000),
    Polled(900_000), msgspec.structs.replace(LOADED, startup=Startup(0, 1, 2, 3, Absent("others loaded"))),
    Profiled("a", (Operator("Conv", "", 3, 10.0),), (1,), (2,), ""),
    Measured(msgspec.structs.replace(WINDOW, waited_ns=300)),
    Probed(Memory(1 << 20, 1 << 20, "VmHWM"), (), {}, {}, (0,), "3.11", 1),
)  # fmt: skip


@pytest.mark.parametrize("reply", HONEST, ids=lambda reply: type(reply).__name__)
def test_an_honest_reply_passes(reply: Reply) -> None:
    assert credible.implausibility(reply, SECOND_NS) == ""


def changed(reply: _R, **fields: Any) -> _R:
    return msgspec.structs.replace(reply, **fields)


def window_with(**fields: Any) -> Measured:
    return Measured(msgspec.structs.replace(WINDOW, **fields))


def probed(*libraries: Library, variables: int = 0, held: dict[str, str] | None = None) -> Probed:
    environment = {f"E{each}": "x" for each in range(variables)}
    return Probed(Memory(1, 1, "VmHWM"), libraries, held or {}, environment, (0,), "3.11", 1)


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
        (MachineProbe(0, 400_000, 500_000), "a probe with a call that took no time"),
        (MachineProbe(900_000, -1, 500_000), "a number that nothing counts"),
        (window_with(calls_per_sample=0), "a field that the supervisor sets"),
        (window_with(calls_not_kept=1), "a field that the supervisor sets"),
        (Verified((2,), b"", calls=msgspec.structs.replace(WINDOW, calls_per_sample=2)), "that the supervisor sets"),
        (window_with(waited_ns=301), "waited for data longer than its calls took"),
        (window_with(user_ns=10**6 * SECOND_NS), "more CPU time than this machine has"),
        (window_with(minor_faults=10**15), "more switches and page faults than fit into it"),
        (Polled(10**13), "a probe that took longer than the time since it was asked for"),
        (changed(LOADED, settings={str(each): "" for each in range(10_000)}), "more facts than a launch has"),
        (changed(LOADED, settings={"x" * 451: "y"}), "a name without end"),
        (Sensed((), {f"v{each}": "<" * 100_000 for each in range(3)}), "more than an export has to say"),
        (probed(Library("lib", "/lib", "x" * 451)), "a name without end"),
        (Verified((1,) * 70 + (2,), b"\0" * 8), "a shape that no array has"),
        (Verified((0, 2**61, 2**61), b""), "a shape that no array has"),
        (Verified((), b"", outputs=(Output((1,) * 33, "<f8", b"\0" * 8, exact=False),)), "a shape that no array has"),
        (Predicted((0, 2**60 + 1), b"", ""), "a shape that no array has"),
        (changed(TRAINED, points=(Evaluation(0, 100, 2.0, 0.5),)), "back in time"),
    ],
)
def test_what_cannot_be_true_is_named(reply: Reply, says: str) -> None:
    assert says in credible.implausibility(reply, SECOND_NS)


SUPERVISOR, BOUNDED = "the supervisor alone sets it", "what the supervisor saw bounds it"
COMPARED, PARTS = "the supervisor compares it with what it knows", "its fields are held"
ITS_OWN = "it judges answers of the user's own file alone"
CLAIM, TEXT = "nothing outside shows it", "a text that is shown, within a length"
FIELDS: dict[type[msgspec.Struct], dict[str, str]] = {
    Startup: dict.fromkeys(("import_ns", "weights_ns", "load_ns", "first_call_ns"), BOUNDED) | {"start_ns": SUPERVISOR},
    Window: {"calls_per_sample": SUPERVISOR, "calls_not_kept": SUPERVISOR}
    | dict.fromkeys(("rewarm_ns", "samples_ns", "window_ns", "waited_ns", "user_ns", "system_ns"), BOUNDED)
    | dict.fromkeys(("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"), BOUNDED),
    MachineProbe: dict.fromkeys(("arithmetic_ns", "memory_ns", "pages_ns"), BOUNDED),
    Polled: {"arithmetic_ns": BOUNDED},
    Evaluation: {"step": BOUNDED, "elapsed_ns": BOUNDED, "accuracy": BOUNDED, "loss": CLAIM},
    Memory: {"peak_rss_bytes": BOUNDED, "rss_bytes": BOUNDED, "source": TEXT, "device_bytes": CLAIM},
    Operator: {"kind": TEXT, "name": TEXT, "executions": BOUNDED, "self_ns": BOUNDED},
    RooflineSamples: dict.fromkeys(("gemm_ns", "copy_ns", "add_ns"), BOUNDED)
    | dict.fromkeys(("threads", "gemm_size", "array_bytes", "blas_threads"), "the canary's image runs our program"),
    Profiled: {"source": TEXT, "note": TEXT, "operators": PARTS, "plain_ns": BOUNDED, "profiled_ns": BOUNDED},
    Driven: {"answer": "the plug-in decodes it", "elapsed_ns": BOUNDED},
    Ready: {"protocol": "`Worker.await_ready`", "pid": "nothing reads it", "python": TEXT},
    Loaded: {
        "startup": PARTS, "version": TEXT, "weights_sha256": COMPARED, "inputs_sha256": COMPARED, "settings": TEXT,
    },
    Measured: {"window": PARTS},
    Verified: {"shape": COMPARED, "output": COMPARED, "outputs": COMPARED, "computed": CLAIM, "calls": PARTS},
    Output: dict.fromkeys(("shape", "dtype", "values", "exact"), COMPARED),
    Computed: dict.fromkeys(("products", "source", "kernels", "kernels_source"), CLAIM),
    Rotated: {"sets": COMPARED, "sha256": COMPARED},
    Trained: dict.fromkeys(("losses", "gradients", "weights", "statistics"), COMPARED) | {"computed": CLAIM},
    Updated: {"values": COMPARED},
    Converged: {"points": PARTS, "diverged": TEXT}
    | dict.fromkeys(("losses", "weights_sha256", "inputs_sha256"), COMPARED),
    Probed: {"memory": PARTS, "libraries": PARTS}
    | dict.fromkeys(("distributions", "environment", "affinity", "python", "threads_alive"), CLAIM),
    Library: {"name": TEXT, "path": TEXT, "kind": TEXT},
    RooflineMeasured: {"samples": PARTS},
    Exported: {"files": COMPARED, "inputs": "read again", "answers": ITS_OWN, "sensitivities": ITS_OWN}
    | dict.fromkeys(("opset", "versions", "unexported", "unanswered"), TEXT),
    OwnInput: dict.fromkeys(OwnInput.__struct_fields__, "read again"),
    Sensed: {"sensitivities": ITS_OWN, "answers": COMPARED, "versions": TEXT, "unanswered": TEXT},
    Sensitivity: dict.fromkeys(("relative_l2", "element", "centred"), ITS_OWN),
    PluginCalled: {"answer": "the plug-in decodes it"},
    Predicted: {"shape": COMPARED, "output": COMPARED, "items_sha256": COMPARED},
    Failed: {"kind": COMPARED, "message": TEXT, "detail": TEXT, "settings": TEXT},
    Absent: {"reason": TEXT},
    Joined: {},
    Used: dict.fromkeys(Used.__struct_fields__, "no request of a supervisor has this reply"),
}  # fmt: skip
"""What holds each field of each reply."""


def structs(kind: Any) -> set[type[msgspec.Struct]]:
    """Return a struct and those that its fields hold."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {kind}.union(*(structs(each) for each in get_type_hints(kind).values()))
    return set().union(*(structs(each) for each in get_args(kind)))


def test_every_field_of_every_reply_is_held_by_something() -> None:
    found = structs(Reply)
    assert {each: {*FIELDS.get(each, ())} for each in found} == {each: {*each.__struct_fields__} for each in found}


def impossible(value: Any, name: str) -> Iterator[Any]:
    """Yield what replaces a struct's field in copies of a reply, wherever it is in it."""
    if isinstance(value, tuple):
        for place, each in enumerate(value):
            for other in impossible(each, name):
                yield (*value[:place], other, *value[place + 1 :])
    if not isinstance(value, msgspec.Struct):
        return
    for field in value.__struct_fields__:
        held = getattr(value, field)
        if f"{type(value).__name__}.{field}" == name:
            much = (10**18,) if isinstance(held, tuple) else 10**18
            yield msgspec.structs.replace(value, **{field: much})
        for other in impossible(held, name):
            yield msgspec.structs.replace(value, **{field: other})


@pytest.mark.parametrize(
    "name",
    [
        f"{kind.__name__}.{field}"
        for kind, fields in FIELDS.items()
        for field, held in fields.items()
        if held in {SUPERVISOR, BOUNDED}
    ],
)
def test_what_is_bounded_is_refused_beyond_it(name: str) -> None:
    lies = [lie for reply in HONEST for lie in impossible(reply, name)]
    assert lies
    assert all(credible.implausibility(lie, SECOND_NS) for lie in lies)


@pytest.mark.parametrize(("kind", "field"), credible.SUPERVISORS)
def test_no_worker_sets_what_is_the_supervisors(kind: type[msgspec.Struct], field: str) -> None:
    assert FIELDS[kind][field] == SUPERVISOR
    for reply in HONEST:
        for lie in impossible(reply, f"{kind.__name__}.{field}"):
            assert credible.implausibility(lie, SECOND_NS) == "a field that the supervisor sets"


def window(calls: int, before: int) -> Measured:
    return window_with(samples_ns=(1,) * calls, rewarm_ns=(1,) * before, window_ns=calls)


HELD = {"jax": "0.9.1", "numpy": "2.4.6"}


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        ((changed(LOADED, version="0.9.1+x"), probed(Library("a", "jax/a.so", "framework"), held=HELD)), ""),
        ((changed(LOADED, version="9.9"),), "a version that its image does not hold"),
        ((changed(LOADED, version="0.9.1"), changed(LOADED, version="2.4.6")), "another version than before"),
        ((probed(held=HELD | {"jax": "9.9"}),), "what its image does not hold"),
        ((probed(Library("a", "torch/a.so", "framework")),), "what its image does not hold"),
        ((Measured(WINDOW), window_with(user_ns=1), Measured(WINDOW)), "measured before, to the nanosecond"),
        ((TRAINED, TRAINED), "measured before, to the nanosecond"),
    ],
)
def test_no_reply_makes_a_record_contradict_itself(replies: Sequence[Reply], says: str) -> None:
    amounts = credible.Amounts(1)
    *before, last = (amounts.excess("jax", each, HELD) for each in replies)
    assert not any(before)
    assert says in last
    assert bool(says) == bool(last)


@pytest.mark.parametrize("shape", [(), (1,) * credible.MAX_AXES, (0, 2**59), (0, 1, 2**58, 2)])
def test_a_shape_that_passes_is_one_of_an_array(shape: tuple[int, ...]) -> None:
    values = b"\0" * 8 * math.prod(shape)
    assert credible.implausibility(Verified(shape, values), SECOND_NS) == ""
    found = reference.array(Output(shape, "<f8", values, exact=False))
    assert found is not None
    assert found.shape == shape


COUNTS = st.integers(0, 400)
REPORTS = st.one_of(
    st.builds(window, st.integers(1, 400), COUNTS),
    st.builds(lambda count, more: probed(*(Library("lib", "/lib", "MKL"),) * count, variables=more), COUNTS, COUNTS),
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

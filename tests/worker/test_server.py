"""A real worker process with the canary, which needs only NumPy."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from levelfield.record.measured import Absent
from levelfield.worker.messages import (
    CallPlugin,
    Failed,
    Load,
    Loaded,
    Measure,
    Measured,
    PluginCalled,
    Probe,
    Probed,
    Stop,
    Task,
    Train,
    Verified,
    Verify,
)
from levelfield.zoo import inputs, models, parity, reference, weights
from tests.worker.conversation import CANARY, Conversation


@pytest.fixture
def worker() -> Iterator[Conversation]:
    with Conversation() as conversation:
        yield conversation
    assert conversation.code == 0


def test_another_task_finds_the_framework_as_it_was_set_up(worker: Conversation) -> None:
    first = worker.get(Load(CANARY), Loaded)
    again = worker.get(Load(msgspec.structs.replace(CANARY, batch=2), launch_measured=False), Loaded)
    assert first.startup.import_ns > 0
    assert again.startup.import_ns == 0
    assert isinstance(again.startup.first_call_ns, Absent)
    assert again.startup.load_ns > 0
    assert (again.weights_sha256, again.settings) == (first.weights_sha256, first.settings)
    assert again.inputs_sha256 != first.inputs_sha256
    same = worker.get(Load(msgspec.structs.replace(CANARY, batch=2), launch_measured=False), Loaded)
    assert (same.startup.load_ns, same.inputs_sha256) == (0, again.inputs_sha256), "what is loaded is not loaded again"
    assert isinstance(worker.ask(Verify(2)), Verified)
    known = worker.get(Load(msgspec.structs.replace(CANARY, batch=3), launch_measured=False, hash_files=False), Loaded)
    assert (known.weights_sha256, known.inputs_sha256 != "") == ("", True)


def test_what_is_not_a_training_cannot_follow_one(worker: Conversation) -> None:
    for says in ("Nothing has been loaded yet", "latency is not training"):
        refused = worker.get(Train(steps=1, batch=1), Failed)
        assert says in refused.message
        assert isinstance(worker.ask(Load(CANARY)), Loaded)
    refused = worker.get(Load(msgspec.structs.replace(CANARY, scenario="training")), Failed)
    assert "There is no recipe to train 'canary'" in refused.message
    assert isinstance(worker.ask(Load(CANARY)), Loaded), "the worker goes on"


def test_a_whole_life(worker: Conversation) -> None:
    loaded = worker.get(Load(CANARY), Loaded)
    canary = models.get("canary")
    parameters = weights.make(canary)
    assert loaded.weights_sha256 == weights.sha256(parameters)
    assert loaded.inputs_sha256 == weights.sha256(inputs.make(canary, 0, 1))
    assert loaded.version == np.__version__
    startup = loaded.startup
    assert isinstance(startup.first_call_ns, int)
    assert min(startup.import_ns, startup.weights_ns, startup.load_ns, startup.first_call_ns) > 0

    verified = worker.get(Verify(4), Verified)
    output = np.frombuffer(verified.output, "<f4").reshape(verified.shape)
    judgement = parity.judge(output, reference.run(canary, parameters, inputs.make(canary, 0, 4)), "fp32")
    assert judgement.equal, judgement.reason
    assert verified.calls is not None
    assert len(verified.calls.samples_ns) * CANARY.batch == 4

    measured = worker.get(Measure(window_ns=20_000_000, min_calls=3), Measured)
    assert len(measured.window.samples_ns) >= 3
    assert len(measured.window.rewarm_ns) == 1
    assert measured.window.window_ns >= sum(measured.window.samples_ns)

    probed = worker.get(Probe(), Probed)
    assert "numpy" in probed.distributions
    without = worker.get(Probe(installed=False), Probed)
    assert without.libraries
    assert not without.distributions

    worker.stdin.write(msgspec.json.encode(Stop()) + b"\n")
    worker.stdin.flush()
    assert worker.stdout.read() == b""
    assert worker.process.wait(60) == 0


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"",
        b'{"type":"sing"}',
        b'{"type":"verify","count":"four"}',
        b"\xff",
        b'{"type":"load","task":{"backend":"\xff","model":"mlp","batch":1,"threads":1}}',
        b'{"type":"probe","x":' + b"[" * 200_000,
    ],
)
def test_a_request_that_is_none_is_answered_and_survived(worker: Conversation, line: bytes) -> None:
    reply = worker.say(line)
    assert isinstance(reply, Failed)
    assert reply.kind == "error"
    assert reply.message.startswith("This request is not understood")
    assert isinstance(worker.ask(Probe()), Probed)


@pytest.mark.parametrize(
    ("task", "kind", "says"),
    [
        (
            msgspec.structs.replace(CANARY, backend="canry"),
            "error",
            "There is no backend 'canry'. Did you mean canary?",
        ),
        (msgspec.structs.replace(CANARY, model="mlp"), "unsupported", "not mlp"),
        (msgspec.structs.replace(CANARY, precision="int3"), "unsupported", "int3"),
        (msgspec.structs.replace(CANARY, weights_path="/nowhere/weights"), "error", "FileNotFoundError"),
        (Task("onnxruntime", "mlp", 1, 1), "unsupported", "not installed"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_sentence(worker: Conversation, task: Task, kind: str, says: str) -> None:
    reply = worker.get(Load(task), Failed)
    assert reply.kind == kind
    assert says in reply.message
    assert "\n" not in reply.message
    assert "Traceback" in reply.detail
    assert isinstance(worker.ask(Load(CANARY)), Loaded), "it goes on"


RAISING = """
import levelfield.backends.canary
class Raising:
    version = "1"
    def __init__(self, options): pass
    def load(self, source):
        calls = []
        def step(inputs):
            calls.append(1)
            if len(calls) > 1:
                raise {error}
            return __import__("numpy").zeros((1, 513), "float32")
        return step
    def settings(self):
        return {{}}
levelfield.backends.canary.Canary = Raising
"""


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        ("MemoryError()", "out-of-memory", "ran out of memory"),
        ("RuntimeError('first line\\nsecond line')", "error", "RuntimeError: first line second line"),
        ("RuntimeError('x' * 100_000)", "error", "RuntimeError: xxx"),
    ],
)
def test_whatever_a_backend_throws_is_a_reply(error: str, kind: str, says: str) -> None:
    with Conversation(code=RAISING.format(error=error)) as worker:
        worker.ask(Load(CANARY))
        reply = worker.get(Measure(window_ns=1), Failed)
        assert reply.kind == kind
        assert says in reply.message
        assert len(reply.message) < 600
        assert len(reply.detail) <= 4000
        assert isinstance(worker.ask(Probe()), Probed)
    assert worker.code == 0


def test_a_function_of_a_plugin_answers(worker: Conversation) -> None:
    reply = worker.get(CallPlugin("msgspec.json", "decode", msgspec.Raw(b'{"a":[1]}')), PluginCalled)
    assert bytes(reply.answer) == b'{"a":[1]}'

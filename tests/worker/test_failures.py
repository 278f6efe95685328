"""What frameworks throw on a GPU, and the one sentence that is made of it. The texts are those of their sources."""

import io
import os
import re
from pathlib import Path

import msgspec
import pytest

from levelfield.backends.protocol import LoadsWith
from levelfield.worker import failures
from levelfield.worker.messages import Failed, Joined, Reply
from levelfield.worker.server import ReplyWriter


class OutOfMemoryError(RuntimeError):
    """As torch calls its own."""


class ResourceExhaustedError(Exception):
    """As TensorFlow calls its own."""


class XlaRuntimeError(RuntimeError):
    """As JAX calls its own."""


def answered(error: Exception, device: str = "cuda") -> Failed:
    try:
        raise error
    except type(error) as raised:
        return failures.failure(raised, device)


@pytest.mark.parametrize(
    "error",
    [
        OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 GiB"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError(
            "Failed copying input tensor from CPU:0 to GPU:0 in order to run Gather: Dst tensor is not initialized."
        ),
        RuntimeError(
            "TensorRT could not build an engine for this GPU: Error Code 2: OutOfMemory (Requested size was 9)"
        ),
        XlaRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4831838208 bytes."),
        ResourceExhaustedError("OOM when allocating tensor with shape[64,3,224,224] and type float on /device:GPU:0"),
        RuntimeError("bfc_arena.cc:376 onnxruntime::BFCArena::AllocateRawInternal Failed to allocate memory"),
        RuntimeError("CUDA failure 2: out of memory (cudaMalloc)"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried"),
    ],
    ids=lambda error: str(error)[:30],
)
def test_a_gpu_or_a_worker_without_memory_left(error: Exception) -> None:
    reply, of_worker = answered(error), answered(error, "cpu")
    assert reply.kind == of_worker.kind == "out-of-memory"
    assert reply.message == "The GPU's memory was not enough: take a smaller batch, or fewer backends at once."
    assert "Traceback" in reply.detail
    assert of_worker.message.startswith("The worker's memory was not enough")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CUDA error: no kernel image is available for execution on the device", "has no code for this GPU"),
        ("CUDA driver version is insufficient for CUDA runtime version", "install a newer one and restart"),
        ("Error 804: forward compatibility was attempted on non supported HW", "restart the machine"),
        ("CUDA error: all CUDA-capable devices are busy or unavailable", "nvidia-smi -c DEFAULT"),
    ],
)
def test_cudas_own_words_get_their_meaning_and_fix(text: str, says: str) -> None:
    reply = answered(RuntimeError(text))
    assert reply.kind == "unsupported", "trying it again would not help"
    assert says in reply.message
    assert reply.message.endswith(".")
    assert text[:20] in reply.detail


def test_a_traceback_names_no_folder_of_this_machine() -> None:
    import levelfield

    detail = answered(RuntimeError("no")).detail
    assert re.search(r'File "(tests/)?worker/test_failures.py", line', detail)
    assert str(Path(levelfield.__file__).parent.parent) not in detail


def test_a_long_message_ends_with_a_whole_word() -> None:
    assert answered(RuntimeError("many words " * 100), "cpu").message.endswith((" many…", " words…"))
    assert answered(RuntimeError("x" * 1000), "cpu").message.startswith("RuntimeError: xxxx")


LOST = Failed("crashed", "Process 2 of 2 was killed.")


class ExitedError(Exception):
    """In place of the end of the process."""


def lines(stream: io.BytesIO) -> list[Reply]:
    return [msgspec.json.decode(line, type=Reply) for line in stream.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def _no_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    def exits(code: int) -> None:
        raise ExitedError(code)

    monkeypatch.setattr(os, "_exit", exits)


def test_a_failure_takes_the_place_of_a_reply_that_is_owed() -> None:
    stream = io.BytesIO()
    replies = ReplyWriter(stream)
    replies.expect_one()
    with pytest.raises(ExitedError):
        replies.fail_and_exit(LOST)
    assert lines(stream) == [LOST]


def test_nobody_hears_of_a_failure_that_nothing_asked_for() -> None:
    stream = io.BytesIO()
    replies = ReplyWriter(stream)
    replies.expect_one()
    replies.write(Joined())
    replies.fail_and_exit(LOST)
    assert lines(stream) == [Joined()]


def test_what_loads_with_other_settings_says_with_which() -> None:
    found = answered(LoadsWith(ValueError("Node input 'mid' is no output."), {"graph": "off"}), "cpu")
    assert (found.kind, found.settings) == ("error", {"graph": "off"})
    assert found.message == "ValueError: Node input 'mid' is no output."

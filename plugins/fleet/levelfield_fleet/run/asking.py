"""Asking one node of the cluster: a task of Ray carries bytes to `run.node` there, and its answer back.

The process that measures is not Ray's: it gets none of the variables with which Ray starts its workers, and it ends
when the carrier does, since its stdin is then closed.
"""

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from levelfield.errors import LevelfieldError, printable
from levelfield_fleet.run import messages
from levelfield_fleet.run.messages import Failed
from levelfield_fleet.run.state import Seen

NODE = "levelfield_fleet.run.node"
_OF_RAY = ("RAY_", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
"""Variables that Ray sets for its workers, by how they begin; of the last two it sets its own values."""
_TAIL_BYTES = 1500
_EXIT_S = 5.0
"""How long a process that closed its output may take to say why."""
_LONGEST = 300


def ask(node: Seen, request: bytes, chunks: Sequence[Any]) -> Any:  # noqa: ANN401  (Ray's reference)
    """Ask exactly this node, which then does nothing else for Ray; return a reference to the reply.

    The task asks for all that the node may give away, and waits while other work of the cluster has some of it. Ray
    never starts it again: whether a node is tried again is for the head to say.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return (
        _task()
        .options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.ray_id, soft=False),
            num_cpus=node.cpus,
            num_gpus=node.gpus,
        )
        .remote(request, list(chunks))
    )


@functools.cache
def _task() -> Any:  # noqa: ANN401  (Ray's remote function)
    """Return the function that Ray calls on nodes; it is pickled as the name of what is installed there."""
    import ray

    return ray.remote(max_retries=0)(carried)


def wait(references: Sequence[Any], timeout_s: float) -> list[Any]:
    """Sleep until a reply is there; return those that are."""
    import ray

    ready, _ = ray.wait(list(references), num_returns=1, timeout=timeout_s)
    return list(ready)


class LostError(LevelfieldError):
    """Ray lost the task: its process or its node ended, or is not there.

    The message names no host; `detail` is what Ray says.
    """

    def __init__(self, message: str, detail: str) -> None:
        super().__init__(message)
        self.detail = detail


def reply(reference: Any) -> bytes:  # noqa: ANN401  (Ray's reference)
    """Return a reply that is there. Raises LostError: the task ended without one; LevelfieldError: it is not bytes."""
    import ray

    try:
        content = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise LostError(
            "The task failed on the node: is the same Levelfield installed there?", _short(error)
        ) from error
    except ray.exceptions.RayError as error:
        raise LostError(f"Ray lost the node or its process there ({type(error).__name__}).", _short(error)) from error
    if not isinstance(content, bytes):
        raise LevelfieldError("The node sent something else than bytes.")
    return content


def end(reference: Any) -> None:  # noqa: ANN401  (Ray's reference)
    """End a task, whatever it does: what it started on the node ends with it."""
    import ray

    with contextlib.suppress(ray.exceptions.RayError, ConnectionError):
        ray.cancel(reference, force=True, recursive=False)


def _short(error: BaseException) -> str:
    text = printable(" ".join(f"{type(error).__name__}: {error}".split())).rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def without_ray(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what Ray sets for its workers."""
    return {name: value for name, value in environment.items() if not name.startswith(_OF_RAY)}


def carry(request: bytes, chunks: Iterable[bytes] = ()) -> bytes:
    """Ask this node, and return its reply."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", NODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=without_ray(os.environ),
            start_new_session=True,
        )
        with process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("A process was started without its pipes.")
            try:
                with contextlib.suppress(BrokenPipeError):  # it may answer before it has read all
                    messages.write(process.stdin, request)
                    for chunk in chunks:
                        messages.write(process.stdin, chunk)
                    messages.write(process.stdin, b"")
                return messages.read(process.stdout)
            except (EOFError, LevelfieldError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_EXIT_S)
                process.kill()
                process.wait()
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - _TAIL_BYTES))
                said = printable(" ".join(errors.read().decode("utf-8", "replace").split()))
                return messages.encode(Failed(f"The process on the node ended without an answer: {said}"))
            finally:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()


def carried(request: bytes, chunks: Sequence[Any]) -> bytes:
    """Ask the node on which Ray runs this."""
    import ray

    return carry(request, (ray.get(chunk) for chunk in chunks))

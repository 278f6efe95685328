"""Asking one node of the cluster, and hearing of its answer or its end."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from levelfield.errors import LevelfieldError, printable
from levelfield_fleet.run import carrier
from levelfield_fleet.run.waves import Seen

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

    return ray.remote(max_retries=0)(carrier.ask)


def put(content: bytes) -> Any:  # noqa: ANN401  (Ray's reference)
    """Put bytes into the object store of the cluster, and return a reference to them."""
    import ray

    return ray.put(content)


def wait(references: Sequence[Any], timeout_s: float) -> list[Any]:
    """Sleep until a reply is there; return those that are."""
    import ray

    ready, _ = ray.wait(list(references), num_returns=1, timeout=timeout_s)
    return list(ready)


class LostError(LevelfieldError):
    """Ray lost the task: its process or its node ended, or is not there.

    Parameters
    ----------
    message
        Names no host.
    detail
        What Ray says.
    """

    def __init__(self, message: str, detail: str) -> None:
        super().__init__(message)
        self.detail = detail


def reply(reference: Any) -> bytes:  # noqa: ANN401  (Ray's reference)
    """Return a reply that is there.

    Raises LostError: the task ended without one. Raises LevelfieldError: it is something else than bytes.
    """
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

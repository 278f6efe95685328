"""Other hosts of a training, placed by Ray: an agent on each for as long as the run takes."""

import contextlib
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from suite.errors import LevelfieldError
from suite.fleet.run import cluster, messages, place
from suite.fleet.run.messages import Failed, FindPort, PortFound, Reply, ServePeer
from suite.fleet.run.waves import Seen
from suite.images.base import Source

ANSWER_S = 120.0
"""How long a node may take to answer: other work of the cluster may keep it waiting."""
_LOOK_S = 0.2
KEY_BYTES = 32


class Placed(NamedTuple):
    """Agents that wait for a run."""

    addresses: tuple[str, ...]
    """`ADDRESS:PORT` of each."""
    key: Path
    """File with the key that was drawn for them."""


@contextlib.contextmanager
def placed(on: str, count: int, launcher: str, base: Source) -> Iterator[Placed]:
    """Start agents on nodes of a cluster, and end them in the end.

    Parameters
    ----------
    on
        The cluster, `HOST:PORT` on one of its nodes or `local:N`: this host is a node too, and trains with the others.
    count
        How many other nodes.
    launcher, base
        As of the run.

    Raises
    ------
    LevelfieldError
        The cluster does not answer, has too few nodes, or one of them does not answer.
    """
    if on.startswith("ray://"):
        raise LevelfieldError(
            "This host trains with the nodes of the cluster, and through ray:// it is none of them.",
            fix="Run this on a node, and name the cluster's own address: HOST:PORT.",
        )
    with cluster.connected(on), tempfile.TemporaryDirectory() as folder:
        key = secrets.token_hex(KEY_BYTES)
        file = Path(folder) / "key"
        file.touch(mode=0o600)
        file.write_text(key, encoding="utf-8")
        others = sorted(cluster.others(), key=lambda each: each.ray_id)
        if len(others) < count:
            raise LevelfieldError(
                f"{count} other nodes are to train, and the cluster has {len(others)}.",
                fix="Ask for fewer with --nodes, or start more: ray start --address=HOST:PORT.",
            )
        serving: list[Any] = []
        try:
            addresses = [_serve(node, key, launcher, base, serving) for node in others[:count]]
            yield Placed(tuple(addresses), file)
        finally:
            for reference in serving:
                place.end(reference)


def _serve(node: Seen, key: str, launcher: str, base: Source, serving: list[Any]) -> str:
    """Start an agent on a node, wait until it listens, and return where."""
    asked = place.ask(node, messages.encode(FindPort(node.address)), ())
    place.wait([asked], ANSWER_S)
    found = _answer(asked)
    if not isinstance(found, PortFound):
        raise LevelfieldError("A node of the cluster answered another question.")
    request = ServePeer(node.address, found.port, key, launcher, base)
    reference = place.ask(node, messages.encode(request), ())
    serving.append(reference)
    deadline = time.monotonic() + ANSWER_S
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection((node.address, found.port), _LOOK_S).close()
            return f"{node.address}:{found.port}"
        if place.wait([reference], _LOOK_S):
            _answer(reference)
            raise LevelfieldError("The agent on a node of the cluster ended at once.")
        if time.monotonic() > deadline:
            raise LevelfieldError(
                "The agent on a node of the cluster does not listen.", fix="Let no firewall be between the nodes."
            )


def _answer(reference: Any) -> Reply:  # noqa: ANN401  (Ray's reference)
    answer = messages.reply_of(place.reply(reference))
    if isinstance(answer, Failed):
        raise LevelfieldError(f"A node of the cluster cannot take part. {answer.reason}")
    return answer

"""The Ray cluster that the user named: connecting to it, and the nodes that it has."""

import contextlib
import hashlib
import hmac
import importlib.util
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from levelfield.errors import LevelfieldError
from levelfield.names import FILE_NAME
from levelfield.paths import installation_key
from levelfield_fleet.run import local
from levelfield_fleet.run.state import Seen

NAMESPACE = "levelfield"
MOST_LOCAL = 16
_ADDRESS = re.compile(r"(?P<client>ray://)?(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})")
_LOCAL = re.compile(r"local:(\d{1,2})")
_REACH_S = 10.0


@contextlib.contextmanager
def connected(on: str) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine, and leave it in the end.

    Raises LevelfieldError: it is no such address, Ray is not installed, or the cluster does not answer.
    """
    count = local_nodes(on)
    with contextlib.ExitStack() as leaving:
        leaving.enter_context(local.surroundings({"RAY_USAGE_STATS_ENABLED": "0"}))
        if count:
            if importlib.util.find_spec("ray") is None:
                raise _no_ray()
            address = leaving.enter_context(local.nodes(count))
        else:
            address = on
            _ray()
            _reach(on)
        ray = _ray()  # now that the variables are set which it reads when it is imported
        before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except Exception as error:  # Ray raises what its own parts raise
            raise LevelfieldError(
                f"The Ray cluster at {on} cannot be used: {' '.join(str(error).split())[:400]}",
                fix="Use the versions of Ray and Python that the cluster has; HOST:PORT only on one of its nodes, "
                "ray://HOST:PORT from elsewhere.",
            ) from error
        leaving.callback(ray.shutdown)
        for number, handler in before.items():
            signal.signal(number, handler)  # Ray has set its own
        _await(count)
        yield


def local_nodes(on: str) -> int:
    """Return how many nodes to start here; 0: the cluster is there. Raises LevelfieldError: `on` is no address."""
    if match := _LOCAL.fullmatch(on):
        if 1 <= int(match[1]) <= MOST_LOCAL:
            return int(match[1])
    elif (match := _ADDRESS.fullmatch(on)) and int(match["port"]) < 2**16:
        return 0
    raise LevelfieldError(
        f"{on[:80]!r} names no cluster.", fix=f"Write ray://HOST:PORT, HOST:PORT, or local:3 (up to {MOST_LOCAL})."
    )


def alive(*, identify: bool) -> list[Seen]:
    """Return the nodes that the cluster has now."""
    nodes = [node for node in _ray().nodes() if node.get("Alive")]
    named = Counter(str(node.get("NodeName", "")) for node in nodes)
    return [_seen(node, named, identify=identify) for node in nodes]


def _seen(node: dict[str, Any], named: Counter[str], *, identify: bool) -> Seen:
    name, host = str(node.get("NodeName", "")), str(node.get("NodeManagerHostname", ""))
    resources = node.get("Resources", {})
    return Seen(
        ray_id=str(node["NodeID"]),
        machine=machine_of(name) if named[name] == 1 else "",
        host=host if identify and FILE_NAME.fullmatch(host) else "",
        cpus=float(resources.get("CPU", 0.0)),
        gpus=float(resources.get("GPU", 0.0)),
    )


def machine_of(name: str) -> str:
    """Return what the journal knows a machine by: a digest of its name in Ray, with the key of this installation.

    Names are few, and a digest without a key would tell them.
    """
    return hmac.new(installation_key(), f"node of a fleet {name}".encode(), hashlib.sha256).hexdigest()[:32]


def _ray() -> Any:  # noqa: ANN401  (Ray's types are not checked)
    try:
        import ray
    except ImportError as error:
        raise _no_ray() from error
    return ray


def _no_ray() -> LevelfieldError:
    return LevelfieldError(
        "fleet run needs Ray, which is not installed here.", fix="pip install './plugins/fleet[ray]'"
    )


def _reach(on: str) -> None:
    """Find out in seconds that nobody listens: Ray itself tries for a minute."""
    match = _ADDRESS.fullmatch(on)
    if match is None:
        return
    try:
        socket.create_connection((match["host"].strip("[]"), int(match["port"])), _REACH_S).close()
    except OSError as error:
        raise LevelfieldError(
            f"Nobody listens at {on}: {error.strerror or error}.",
            fix="`ray status` on its head node says whether the cluster runs; the port of Ray Client is 10001.",
        ) from error


def _await(count: int) -> None:
    """Wait until all local nodes have joined."""
    deadline = time.monotonic() + local.START_S
    while len(alive(identify=False)) < count:
        if time.monotonic() > deadline:
            raise LevelfieldError(
                f"Of {count} nodes, only {len(alive(identify=False))} were started on this machine.",
                fix="Ask for fewer nodes, or free memory.",
            )
        time.sleep(0.2)

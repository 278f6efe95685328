"""A bundle of what images are made of goes to nodes with empty caches, which can fetch nothing by themselves."""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from studies.fleet_whole.conduct import WORDS, Fleet
from studies.fleet_whole.record import Arrived
from suite.errors import LevelfieldError
from suite.fleet.run import bundles, cluster, local, messages, place
from suite.fleet.run.bundles import Bundle
from suite.fleet.run.messages import Failed, Measure
from suite.fleet.run.waves import Seen
from suite.images import catalogue, environments, wheels
from suite.images.catalogue import Lock
from suite.images.wheels import silent

NODES = 2
LAUNCHER = ("--launcher", "venv")
IMAGES = ("canary", "exporter", "onnxruntime")
"""That the plan needs."""
SMALL = ("canary",)
"""Of the bundles that are refused."""
_NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
"""pip(1): no index, no folder of wheels, and no file that names another."""
_LIMIT_S = 120.0
_FOLDER = "refused"
"""Of the fleet that the refused requests name."""


def arrived(folder: Path) -> Arrived:
    """Start nodes with empty caches, send them bundles, and let them measure.

    Ray is imported in this process, which therefore cannot start other nodes after that.

    Parameters
    ----------
    folder
        For caches and reports.

    Raises
    ------
    LevelfieldError
        Ray does not start, or the wheels cannot be fetched here.
    """
    caches = [folder / f"cache-{number}" for number in range(1, NODES + 1)]
    own = [{"LEVELFIELD_CACHE": str(each), **_NO_INDEX} for each in caches]
    with local.surroundings({"RAY_USAGE_STATS_ENABLED": "0"}), local.nodes(NODES, own) as address:
        with cluster.connected(address):
            node = cluster.alive(identify=False)[0]
            right = bundles.put(SMALL, "venv", silent)
            without, changed, forged = (refusal(node, each) for each in (Bundle(), *spoilt(right)))
        left = sum(not _is_right(path) for path in _wheels(caches))
        for each in caches:
            shutil.rmtree(each, ignore_errors=True)
        began = time.monotonic()
        fleet = Fleet("bundle", folder, address)
        ended = fleet.run("--at-once", str(NODES), *LAUNCHER)
        seconds = time.monotonic() - began
    there = list(_wheels(caches))
    locks = [catalogue.lock(name) for name in IMAGES]
    return Arrived(
        nodes=NODES,
        without=without,
        changed=changed,
        forged=forged,
        left_of_forged=left,
        packed=sum(line.startswith("writing ") for line in ended.output.splitlines()),
        wheel_bytes=sum(path.stat().st_size for path in _wheels(caches[:1])),
        wheels=len(there),
        wheels_right=sum(map(_is_right, there)),
        wheels_needed=NODES * len({pin.file for lock in locks for pin in lock.pins}),
        environments=tuple(sorted(_environments(caches))),
        expected=tuple(sorted(NODES * [_environment(lock) for lock in locks])),
        records=len(fleet.contents()),
        exit_code=ended.code,
        seconds=seconds,
    )


def spoilt(bundle: Bundle) -> tuple[Bundle, Bundle]:
    """Return a bundle with one changed byte, under the digest of the right one and under its own.

    The byte is in the middle of the first piece, which holds wheels.

    Parameters
    ----------
    bundle
        In the object store.
    """
    import ray

    first, *others = [bytes(ray.get(each)) for each in bundle.chunks]
    middle = len(first) // 2
    wrong = first[:middle] + bytes([first[middle] ^ 1]) + first[middle + 1 :]
    chunks = (place.put(wrong), *bundle.chunks[1:])
    return Bundle(bundle.sha256, chunks), Bundle(hashlib.sha256(b"".join((wrong, *others))).hexdigest(), chunks)


def refusal(node: Seen, bundle: Bundle) -> str:
    """Ask a node to measure with a bundle that it must refuse; return what it says.

    Parameters
    ----------
    node
        Of the cluster.
    bundle
        That is sent; the empty one: none is.

    Raises
    ------
    LevelfieldError
        It measured, or did not answer.
    """
    request = Measure(_FOLDER, "node-01", (*WORDS, *LAUNCHER), 1, _LIMIT_S, bundle.sha256)
    answer = messages.reply_of(place.reply(place.ask(node, messages.encode(request), bundle.chunks)))
    if not isinstance(answer, Failed):
        raise LevelfieldError("The node did not refuse what it should have.")
    return answer.reason


def _wheels(caches: list[Path]) -> Iterator[Path]:
    for cache in caches:
        yield from sorted((cache / "wheels").glob("*.whl"))


def _is_right(wheel: Path) -> bool:
    """Return whether a wheel's SHA-256 is one that a lock of the plan names for it."""
    pins = {(pin.file, pin.sha256) for name in IMAGES for pin in catalogue.lock(name).pins}
    return (wheel.name, wheels.digest(wheel)) in pins


def _environments(caches: list[Path]) -> Iterator[str]:
    for cache in caches:
        with contextlib.suppress(OSError):
            yield from (each.name for each in (cache / "venvs").iterdir() if environments.is_complete(each))


def _environment(lock: Lock) -> str:
    return environments.location(lock, environments.find_python(lock)[1]).name

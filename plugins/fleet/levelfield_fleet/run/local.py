"""Ray's own nodes on this machine, for a trial: they listen on the loopback alone, and end with this process.

All of them are below a guard, so that none outlives this process, not even where it is killed. A token that is drawn
here keeps other users of this machine out of the cluster: who may submit to it runs code as this user.

`python -m levelfield_fleet.run.local COUNT FILE [OWN]` keeps the nodes, and writes the cluster's address to the file
once they are started. A node that dies is started again under its name, as a machine that reboots would be. OWN is
JSON, an object of variables for each node, such as a `LEVELFIELD_CACHE` of its own.
"""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from levelfield.errors import LevelfieldError, printable
from levelfield.launchers import disk_limit
from levelfield.paths import remove_tree
from levelfield_fleet.run import guard

START_S = 120.0
STORE_BYTES = 256 * 1024 * 1024
"""Of each node's object store: a bundle passes through it in pieces."""
LOOK_S = 1.0
"""Between looks at whether all nodes live."""
_TAIL_BYTES = 800
_PLACES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    # A Ray without clusters, as on Windows and macOS: its processes then listen on 127.0.0.1, and elsewhere never do.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


@contextlib.contextmanager
def nodes(count: int, own: Sequence[Mapping[str, str]] = ()) -> Iterator[str]:
    """Start nodes of Ray, and stop them in the end.

    Ray reads its variables when it is imported: within, it is imported for the first time in this process.

    Raises LevelfieldError: they cannot be started.
    """
    disk_limit.sweep()
    with contextlib.ExitStack() as leaving:
        folder = disk_limit.make()
        leaving.callback(remove_tree, folder)
        drawn = {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_TMPDIR": str(folder)}
        leaving.enter_context(surroundings(_PLACES | drawn))
        address, log = folder / "address", folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    guard.__name__,
                    sys.executable,
                    "-P",
                    "-m",
                    "levelfield_fleet.run.local",
                    str(count),
                    address,
                    *([json.dumps([dict(each) for each in own])] if own else []),
                ],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        leaving.enter_context(process)  # closes stdin and waits: the guard then ends all nodes
        _await(process, address, log)
        yield address.read_text(encoding="ascii")


@contextlib.contextmanager
def surroundings(variables: dict[str, str]) -> Iterator[None]:
    """Set variables of this process's environment, which Ray reads, and set them back in the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _await(process: "subprocess.Popen[bytes]", address: Path, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        if address.is_file():
            return
        time.sleep(0.1)
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        said = printable(" ".join(file.read().decode("utf-8", "replace").split()))
    raise LevelfieldError(
        f"Ray did not start on this machine: {said}", fix="Try `ray start --head --block` by itself, and read its logs."
    )


def main() -> None:
    """Start the nodes, and keep them."""
    count, file = int(sys.argv[1]), Path(sys.argv[2])
    own: list[dict[str, str]] = json.loads(sys.argv[3]) if len(sys.argv) > 3 else [{}] * count
    from ray.cluster_utils import Cluster

    # What started this ends all of it with SIGKILL; Ray's own way waits half a minute for each node.
    cluster = Cluster(shutdown_at_exit=False)
    nodes = {number: _started(cluster, number, own[number - 1]) for number in range(1, count + 1)}
    draft = file.with_suffix(".draft")
    draft.write_text(str(cluster.address), encoding="ascii")
    draft.replace(file)
    while not nodes[1].dead_processes():
        time.sleep(LOOK_S)
        for number, node in nodes.items():
            if number > 1 and node.dead_processes():
                cluster.remove_node(node, allow_graceful=False)
                nodes[number] = _started(cluster, number, own[number - 1])


def _started(cluster: Any, number: int, own: dict[str, str]) -> Any:  # noqa: ANN401  (Ray's types are not checked)
    return cluster.add_node(
        wait=False,
        node_name=name_of(number),
        num_cpus=os.cpu_count(),
        object_store_memory=STORE_BYTES,
        include_dashboard=False,
        env_vars=own,
    )


def name_of(number: int) -> str:
    """Return what Ray calls a node of this machine, the first of which is 1."""
    return f"local-{number}"


if __name__ == "__main__":
    main()

"""Ray's nodes on this machine, while `python -m levelfield_fleet.run.local_cluster COUNT FILE [OWN]` runs.

The address of the cluster is written to the file once the nodes are started. A node that dies is started again under
its name, as a machine that reboots would be: a trial can kill one, and see that its run goes on.

OWN is JSON, an object of variables for each node, which it has beside those of this process: a cache of its own, as
machines have, where `LEVELFIELD_CACHE` is among them.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

STORE_BYTES = 256 * 1024 * 1024
"""Of each node's object store: a bundle passes through it in pieces."""
LOOK_S = 1.0
"""Between looks at whether all nodes live."""


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

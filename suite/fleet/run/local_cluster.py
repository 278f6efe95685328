"""`python -m suite.fleet.run.local_cluster COUNT FILE`: nodes of Ray on this machine, for as long as this process runs.

The address of the cluster is written to the file once the nodes are started. A node that dies is started again under
its name, as a machine that reboots would be: a trial can kill one, and see that its run goes on.
"""

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
    from ray.cluster_utils import Cluster

    # What started this ends all of it with SIGKILL; Ray's own way waits half a minute for each node.
    cluster = Cluster(shutdown_at_exit=False)
    nodes = {number: _started(cluster, number) for number in range(1, count + 1)}
    draft = file.with_suffix(".draft")
    draft.write_text(str(cluster.address), encoding="ascii")
    draft.replace(file)
    while not nodes[1].dead_processes():
        time.sleep(LOOK_S)
        for number, node in nodes.items():
            if number > 1 and node.dead_processes():
                cluster.remove_node(node, allow_graceful=False)
                nodes[number] = _started(cluster, number)


def _started(cluster: Any, number: int) -> Any:  # noqa: ANN401  (Ray's types are not checked)
    return cluster.add_node(
        wait=False,
        node_name=f"local-{number}",
        num_cpus=os.cpu_count(),
        object_store_memory=STORE_BYTES,
        include_dashboard=False,
    )


if __name__ == "__main__":
    main()

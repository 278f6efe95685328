"""Data-parallel training in JAX: one program for all processes, batches sharded by items and weights replicated.

XLA's partitioner finds the sums over all processes by itself; on a CPU they go over gloo (on GPUs over NCCL,
unverified). The loss is that of the whole batch in every process.

References
----------
https://docs.jax.dev/en/latest/multi_process.html
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.replica import HOST, Replica

AXIS = "replicas"


class Mesh:
    """All devices of all processes in one row, and how arrays lie on them."""

    def __init__(self, jax: Any, replica: Replica) -> None:  # noqa: ANN401 (a module)
        if not jax.distributed.is_initialized():
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
            jax.distributed.initialize(
                f"{HOST}:{replica.ports[0]}", num_processes=replica.processes, process_id=replica.rank
            )
        self._jax = jax
        row = jax.sharding.Mesh(np.array(jax.devices()), (AXIS,))
        self.replicated = jax.sharding.NamedSharding(row, jax.sharding.PartitionSpec())
        self._sharded = jax.sharding.NamedSharding(row, jax.sharding.PartitionSpec(AXIS))

    def replicate(self, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401 (an array of JAX's)
        """Return an array that every process holds whole; each must give the same one."""
        return self._jax.make_array_from_process_local_data(self.replicated, np.array(array, copy=True))

    def shard(self, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401 (the same)
        """Return the batch that all processes' shares make, one after the other."""
        return self._jax.make_array_from_process_local_data(self._sharded, array)

    def settings(self) -> dict[str, str]:
        """Read back which engine it is."""
        library = self._jax.config.jax_cpu_collectives_implementation
        return {
            "engine": f"jax.distributed, batches sharded over {self._jax.device_count()} devices, over {library}",
            "processes": str(self._jax.process_count()),
        }
